// GGUF as a fuzzer needs it: every count, type and offset can be a lie. A recipe's edits are applied to a model in
// memory.

import { makeModel, typeTraits } from '../../dist/model-maker/index.js'

const TYPES = ['u8', 'i8', 'u16', 'i16', 'u32', 'i32', 'f32', 'bool', 'string', 'array', 'u64', 'i64', 'f64']

/** What edits work on: { entries: Map(key -> { type, value }), tensors, data, header }. */
export function fuzzModel({ spec, rename = undefined, more = {} }) {
  const model = makeModel(spec)
  const tensors = [...model.tensors.values()]
  const data = tensors.map(({ bytes }) => padded(bytes))
  let offset = 0
  const infos = tensors.map(({ name, shape, type }, i) => {
    const info = { name, ne: [...shape], type: typeTraits[type].id, offset }
    offset += data[i].length
    return info
  })
  const entries = Object.entries(model.metadata).map(([key, value]) => [
    rename ? key.replace(`${spec.arch}.`, `${rename}.`) : key,
    value,
  ])
  const map = new Map(entries)
  if (rename) {
    map.set('general.architecture', { type: 'string', value: rename })
    for (const [key, value] of Object.entries(more)) {
      if (!map.has(`${rename}.${key}`)) map.set(`${rename}.${key}`, value)
    }
  }
  return { entries: map, tensors: infos, data: Buffer.concat(data) }
}

function padded(bytes, alignment = 32) {
  return Buffer.concat([bytes, Buffer.alloc((alignment - (bytes.length % alignment)) % alignment)])
}

/** The model as `n` files, as llama-gguf-split makes them: each is what edits work on. Their names: partName(). */
export function partsOf({ entries, tensors, data }, n) {
  const ends = [...tensors.slice(1).map(({ offset }) => offset), data.length]
  const size = Math.ceil(tensors.length / n)
  return Array.from({ length: n }, (_, part) => {
    const first = part * size
    const start = tensors[first]?.offset ?? data.length
    const own = tensors
      .slice(first, first + size)
      .map((tensor) => ({ ...tensor, offset: tensor.offset - start }))
    const split = [
      ['split.no', { type: 'u16', value: part }],
      ['split.count', { type: 'u16', value: n }],
      ['split.tensors.count', { type: 'i32', value: tensors.length }],
    ]
    return {
      entries: new Map(part === 0 ? [...entries, ...split] : split),
      tensors: own,
      data: data.subarray(start, ends[first + own.length - 1] ?? start),
    }
  })
}

/** The name of part `i` of `n`, which llama.cpp takes for granted. */
export function partName(name, i, n) {
  const five = (number) => String(number).padStart(5, '0')
  return `${name}-${five(i + 1)}-of-${five(n)}.gguf`
}

/** The file with the edits in it. Each edit is an array: what to do, and with what. */
export function mutated(base, edits) {
  const model = {
    entries: new Map(base.entries),
    tensors: base.tensors.map((tensor) => ({ ...tensor, ne: [...tensor.ne] })),
    data: base.data,
    header: {},
  }
  const late = []
  for (const [what, ...args] of edits) {
    const edit = EDITS[what]
    if (edit) edit(model, ...args)
    else late.push([what, ...args])
  }
  let bytes = Buffer.concat([headOf(model), model.data])
  for (const [what, at, value] of late) {
    if (what === 'flip') bytes[at % bytes.length] ^= value
    else if (what === 'cut') bytes = bytes.subarray(0, at % bytes.length)
    else throw new Error(`unknown edit ${what}`)
  }
  return bytes
}

const EDITS = {
  set: ({ entries }, key, type, value) => entries.set(key, { type, value }),
  drop: ({ entries }, key) => entries.delete(key),
  rename: ({ entries }, key, name) => {
    const value = entries.get(key)
    entries.delete(key)
    if (value) entries.set(name, value)
  },
  item: ({ entries }, key, i, value) => {
    const was = entries.get(key)
    if (!Array.isArray(was?.value) || was.value.length === 0) return
    entries.set(key, { ...was, value: was.value.with(i % was.value.length, value) })
  },
  resize: ({ entries }, key, n) => {
    const was = entries.get(key)
    if (!Array.isArray(was?.value)) return
    const filler = was.value.at(-1) ?? 0
    entries.set(key, { ...was, value: Array.from({ length: n }, (_, i) => was.value[i] ?? filler) })
  },
  tensor: ({ tensors }, i, field, value) => {
    const tensor = tensors[i % tensors.length]
    if (typeof field === 'number') tensor.ne[field] = value
    else tensor[field] = value
  },
  // a file that never had it: what comes behind moves up
  lose: (model, i) => {
    const { tensors, data } = model
    const [{ offset: start }] = tensors.splice(i % tensors.length, 1)
    const end = Math.min(
      data.length,
      ...tensors.map(({ offset }) => offset).filter((offset) => offset > start),
    )
    for (const tensor of tensors) if (tensor.offset > start) tensor.offset -= end - start
    model.data = Buffer.concat([data.subarray(0, start), data.subarray(end)])
  },
  header: ({ header }, field, value) => {
    header[field] = value
  },
}

function headOf({ entries, tensors, header }) {
  const parts = [Buffer.from(header.magic ?? 'GGUF')]
  const u32 = (value) => parts.push(scalar('u32', value))
  const u64 = (value) => parts.push(scalar('u64', value))
  const string = (value) => {
    const bytes = Buffer.from(String(value))
    u64(bytes.length)
    parts.push(bytes)
  }
  u32(header.version ?? 3)
  u64(header.tensors ?? tensors.length)
  u64(header.entries ?? entries.size)
  for (const [key, { type, value }] of entries) {
    string(key)
    const one = type.replace('[]', '')
    if (type !== one) u32(TYPES.indexOf('array'))
    u32(TYPES.indexOf(one))
    if (type !== one) u64(value.length)
    for (const item of type === one ? [value] : value) {
      if (one === 'string') string(item)
      else parts.push(scalar(one, item))
    }
  }
  for (const { name, ne, type, offset, dims } of tensors) {
    string(name)
    u32(dims ?? ne.length)
    for (const extent of ne) u64(extent)
    u32(type)
    u64(offset)
  }
  return padded(Buffer.concat(parts), header.alignment)
}

function scalar(type, value) {
  const number = Number(value)
  const integer = BigInt(Number.isFinite(number) ? Math.trunc(number) : 0)
  const out = Buffer.alloc({ u8: 1, i8: 1, bool: 1, u16: 2, i16: 2, u64: 8, i64: 8, f64: 8 }[type] ?? 4)
  if (type === 'f32') out.writeFloatLE(number)
  else if (type === 'f64') out.writeDoubleLE(number)
  else {
    const whole = Buffer.alloc(8)
    whole.writeBigUInt64LE(BigInt.asUintN(64, integer))
    whole.copy(out)
  }
  return out
}
