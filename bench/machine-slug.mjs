/** A machine as a part of a file's name. */
export function machineSlug({ cpu, cores }) {
  const name = cpu.replace(/\((R|TM)\)|CPU|Processor|@.*/gi, ' ').toLowerCase()
  return `${name.match(/[a-z0-9.]+/g)?.join('-') ?? 'cpu'}-${cores}-cores`
}
