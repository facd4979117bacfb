#!/usr/bin/env node
try {
  const { main } = await import('../dist/cli/main.js')
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  if (error.code !== 'EMFILE' && error.code !== 'ENFILE') throw error
  // before there is anything to report it
  console.error('h2o-prefill: error: too few files may be open [ERR_H2O_FILE_LIMIT]')
  console.error(
    'h2o-prefill: hint: allow more, by ulimit -n or in the container: 100 are enough for most commands',
  )
  process.exitCode = 5
}
