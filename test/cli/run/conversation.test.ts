// -cnv, -sys and --chat-template: what goes to the model.

import { writeFile } from 'node:fs/promises'
import { afterAll, expect, it } from 'vitest'
import type { RunFlags } from '../../../src/ts/cli/flags/options.js'
import { conversationOf } from '../../../src/ts/cli/run/conversation.js'
import { loadModel } from '../../../src/ts/index.js'
import { scratch, tinyModel } from '../../ts/support.js'

const own = '{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>'
const other = 'other:{{ messages[-1].content }}'
const metadata = { 'tokenizer.chat_template': { type: 'string', value: own } } as const
const model = await loadModel(await tinyModel({ metadata }))
afterAll(() => model.dispose())

const given = (flags: Partial<RunFlags>) => conversationOf(flags as RunFlags, 'Hi', model)

it.each<[string, Partial<RunFlags>, string]>([
  ['nothing', {}, 'Hi'],
  ['-no-cnv', { conversation: false }, 'Hi'],
  ['-cnv', { conversation: true }, '<user>Hi<assistant>'],
  ['-sys', { systemPrompt: 'Short.' }, '<system>Short.<user>Hi<assistant>'],
  ['--chat-template', { chatTemplate: other }, 'other:Hi'],
])('%s', async (_, flags, text) => {
  expect(await given(flags)).toBe(text)
})

it('takes a template from a file', async () => {
  const chatTemplateFile = scratch('template.jinja')
  await writeFile(chatTemplateFile, other)
  expect(await given({ chatTemplateFile })).toBe('other:Hi')
})

it.each<[string, Partial<RunFlags>]>([
  ['a template by name', { chatTemplate: 'chatml' }],
  ['two templates', { chatTemplate: other, chatTemplateFile: 'x' }],
  ['a file that is not there', { chatTemplateFile: '/nowhere/x' }],
  ['a system message without a chat', { conversation: false, systemPrompt: 'Short.' }],
])('refuses %s', async (_, flags) => {
  await expect(given(flags)).rejects.toMatchObject({ name: 'UsageError' })
})
