/** Passes on each message once. */
export function onceEach(print: (message: string) => void): (message: string) => void {
  const seen = new Set<string>()
  return (message) => {
    if (seen.has(message)) return
    seen.add(message)
    print(message)
  }
}
