/** Marks the objects of a class so that `instanceof` works with its stand-in in index.cts. */
export function markForInstanceof(prototype: object, name: string): void {
  Object.defineProperty(prototype, Symbol.for(`h2o-llama.${name}`), { value: true })
}
