// One process of the pool: runs the mutants that it is sent, and says how each ended.

const kinds = new Map()

async function kindOf(name) {
  if (!kinds.has(name)) kinds.set(name, await import(`./kinds/${name}.mjs`))
  return kinds.get(name)
}

process.on('message', async (recipe) => {
  try {
    const { run } = await kindOf(recipe.kind)
    process.send({ outcome: await run(recipe) })
  } catch (error) {
    process.send({ finding: String(error?.name === 'Error' ? error.message : (error?.stack ?? error)) })
  }
})
// what the parent's end leaves behind
process.on('disconnect', () => process.exit())
