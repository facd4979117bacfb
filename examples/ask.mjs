import { readFile } from 'node:fs/promises'
import { createContext } from 'h2o-llama'

const [model = '', file = '', ...questions] = process.argv.slice(2)
const ctx = await createContext({ model, nBatch: 4096, nUbatch: 1024 })
const document = await ctx.read(await readFile(file, 'utf8')) // sparse: once, in a fraction of the time

for (const question of questions) {
  const prompt = `\n\nQuestion: ${question}\nAnswer:`
  const answer = document.ask(prompt, { nPredict: 64, temperature: 0, stop: ['\n'] }) // dense: it sees everything
  for await (const { text } of answer) process.stdout.write(text)
  console.log()
}
await ctx.dispose()
