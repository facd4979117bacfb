// What lists of values mean together.

type Choice<Lists> = {
  [Name in keyof Lists]: Lists[Name] extends readonly (infer Value)[] | undefined
    ? Value | (undefined extends Lists[Name] ? undefined : never)
    : never
}

/** Every choice of one value from each list, the last one changing first; of a list that is not there, undefined. */
export function combinations<Lists extends Record<string, readonly unknown[] | undefined>>(
  lists: Lists,
): Choice<Lists>[] {
  return Object.entries(lists).reduce<object[]>(
    (choices, [name, values = [undefined]]) =>
      choices.flatMap((choice) => values.map((value) => ({ ...choice, [name]: value }))),
    [{}],
  ) as Choice<Lists>[]
}
