/** What counts of H2O are unless given, as help texts say it. `resolvedH2o()` has them for a given context. */
export const countDefaults = {
  local: '(default: 128, 256 with votes)',
  heavy: '(default: 640, growing where three query heads or more share a KV head; 256 with votes)',
  denseTail: '(default: 64, 0 with votes)',
} as const
