/** Where state_header (src/native/addon/context/state-header.h) has the tokens of a state: behind the magic and the version. */
const positionAt = 12

/** Tokens in a saved state, before it is loaded; 0 where the bytes are none. */
export function statePosition(state: Uint8Array): number {
  const view = new DataView(state.buffer, state.byteOffset, state.byteLength)
  return state.length < positionAt + 4 ? 0 : Math.max(0, view.getInt32(positionAt, true))
}
