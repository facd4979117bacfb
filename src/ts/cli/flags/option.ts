// One row of a command's table of flags, for the parser, for the argv rewriter and for --help; and what rows become:
// the type of the flags, and options of the API.
import { Option } from 'commander'
import type { Parser } from './parsers.js'

export interface OptionSpec {
  /** every spelling; the first long one names the flag */
  names: readonly [string, ...string[]]
  /** what --help calls the value; an option without one is a switch */
  value?: string
  help: string
  env?: string
  parse?: Parser<unknown>
  /** the option of the API that it is; of several rows of one option, the first that was given counts */
  to?: string
  /** what the option gets, if not the value itself; undefined is nothing */
  map?(value: never): unknown
  /** a switch of llama.cpp's scripts that changes nothing here: one line says so */
  withoutEffect?: true
  /** given again it is one more, and not another one */
  several?: true
  default?: unknown
  group: string
}

export type RowWithoutEffect = OptionSpec & { withoutEffect: true }

/** The name commander knows an option by: its first long one. */
export function longName(spec: OptionSpec): string {
  const name = spec.names.find((n) => n.startsWith('--'))
  if (!name) throw new Error(`an option without a long name: ${spec.names[0]}`)
  return name
}

/** Under which commander keeps an option: `--no-h2o` is `h2o`. */
export const keyOf = (spec: OptionSpec) => new Option(longName(spec)).attributeName()

type Rows = readonly OptionSpec[]

type Camel<S extends string> = S extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : S
type Long<Names> = Names extends readonly [infer First, ...infer Others]
  ? First extends `--${string}`
    ? First
    : Long<Others>
  : never
type NameOf<Row extends OptionSpec> = Long<Row['names']>
type KeyOf<Row extends OptionSpec> =
  NameOf<Row> extends `--no-${infer On}`
    ? Camel<On>
    : NameOf<Row> extends `--${infer Name}`
      ? Camel<Name>
      : never
/** Of what is there when nothing was given: it has a default, or it switches off what no other row switches on. */
type AlwaysThere<Row extends OptionSpec, All extends OptionSpec> = Row extends { default: unknown }
  ? KeyOf<Row>
  : NameOf<Row> extends `--no-${infer On}`
    ? `--${On}` extends NameOf<All>
      ? never
      : KeyOf<Row>
    : never
type One<Row> = Row extends { value: string }
  ? Row extends { parse: Parser<infer Value> }
    ? Value
    : string
  : boolean
type Value<Row> = Row extends { several: true } ? One<Row>[] : One<Row>
type WithEffect<Row> = Row extends RowWithoutEffect ? never : Row

type Flags<All extends OptionSpec> = {
  [Row in All as AlwaysThere<Row, All>]: Value<Row>
} & { [Row in All as Exclude<KeyOf<Row>, AlwaysThere<Row, All>>]?: Value<Row> }

/** The flags that commander makes of a table. */
export type FlagsOf<T extends Rows> = Flags<WithEffect<T[number]>>

type Named<Row, Name> = Row extends OptionSpec ? (NameOf<Row> extends Name ? Row : never) : never

/** The rows with these long names, in the order of the names; in a group of their own if one is given. */
export function taken<const T extends Rows, const Names extends readonly NameOf<T[number]>[]>(
  rows: T,
  names: Names,
  group?: string,
): readonly Named<T[number], Names[number]>[] {
  const found = names.map((name) => rows.find((row) => longName(row) === name) as OptionSpec)
  return found.map((row) => (group === undefined ? row : { ...row, group })) as never
}

type Mapped<Row> = Row extends { map(value: never): infer Value } ? Exclude<Value, undefined> : Value<Row>
type OptionsOf<Row> = {
  [R in Row as R extends { to: infer To extends string } ? To : never]?: Mapped<R>
}

/** What was given of the options that the rows name. What was not stays out: the API has its own defaults. */
export function optionsOf<const T extends Rows>(rows: T, flags: object): OptionsOf<T[number]> {
  const given = rows.flatMap((row) => {
    const value = (flags as Record<string, unknown>)[keyOf(row)]
    if (row.to === undefined || value === undefined) return []
    const { to, map = (one: unknown) => one } = row
    return [[to, map(value as never)] as const]
  })
  return Object.fromEntries(given.filter(([, value]) => value !== undefined).reverse()) as never
}
