// What compare and parity share: a text or the tokens of a saved file, cut into windows that contexts read.
import type { Model } from '../../index.js'
import type { ModelFlags } from '../flags/model-flags.js'
import { SavedLogits } from '../saved-logits/reader.js'
import { textTokens } from '../saved-logits/text.js'
import { LogitsWriter } from '../saved-logits/writer.js'
import type { Session } from '../session.js'
import { seconds } from '../shell/format.js'
import type { Group } from './contexts.js'
import type { Layout } from './layout.js'
import type { Reference } from './reference.js'
import { walk } from './walk.js'

interface Flags extends ModelFlags {
  model: string
  klDivergenceBase?: string
  saveAllLogits?: string
  verbose?: boolean
}

export class Windows {
  constructor(
    readonly session: Session,
    readonly model: Model,
    readonly tokens: Int32Array,
    /** what the logits are held against, if it is a file */
    readonly saved: SavedLogits | undefined,
    readonly layout: Layout,
    /** where logits are saved, if they are */
    readonly writer: LogitsWriter | undefined,
  ) {}

  static async open(
    session: Session,
    api: Parameters<Session['loadModel']>[0],
    flags: Flags,
    text: string | undefined,
    layOut: (nTokens: number, nCtxTrain: number, saved: SavedLogits | undefined) => Layout,
  ): Promise<Windows> {
    const { klDivergenceBase: base, saveAllLogits: target } = flags
    const saved = base === undefined ? undefined : session.keep(await SavedLogits.open(base))
    const model = await session.loadModel(api, flags)
    const tokens = await textTokens(model, text, saved, session.signal)
    const layout = layOut(tokens.length, model.nCtxTrain, saved)
    const head = { nCtx: layout.nWindow, nVocab: model.nVocab, nWindows: layout.nWindows }
    const writer =
      target === undefined ? undefined : session.keep(await LogitsWriter.open(target, head, tokens))
    return new Windows(session, model, tokens, saved, layout, writer)
  }

  /** Lets the group and the reference read every window; `what` begins each line that says so. */
  async walk(
    what: string,
    { contenders, denseTail }: Group,
    reference: Reference,
    { before, after }: { before?(where: string): void; after?(): void },
  ): Promise<void> {
    const { session, model, tokens, layout } = this
    const { nWindow, nWindows } = layout
    for (let i = 0; i < nWindows; i++) {
      const start = performance.now()
      const where = `${what} window ${i + 1}/${nWindows}`
      const window = tokens.slice(i * nWindow, (i + 1) * nWindow)
      // as llama-perplexity does: every window begins as a text would
      if (model.addBos && model.bosToken !== null) window[0] = model.bosToken
      before?.(where)
      const onCall = (done: number) => session.say(`${where}, ${done}/${nWindow} tokens`)
      await walk(i, window, layout, reference, contenders, { denseTail, signal: session.signal, onCall })
      session.say(`${where}: ${seconds(performance.now() - start)}`)
      after?.()
    }
  }
}
