// -cnv: the prompt as a message of a chat, in the model's template or another one.
import type { Model } from '../../index.js'
import type { RunFlags } from '../flags/options.js'
import { readTextFile } from '../shell/text-file.js'
import { UsageError } from '../shell/usage-error.js'

/** The text that goes to the model. @throws UsageError, and what Model.formatChat() throws */
export async function conversationOf(flags: RunFlags, prompt: string, model: Model): Promise<string> {
  const { conversation, systemPrompt, chatTemplate, chatTemplateFile } = flags
  const isImplied = [systemPrompt, chatTemplate, chatTemplateFile].some((given) => given !== undefined)
  if (!(conversation ?? isImplied)) {
    if (conversation === false && isImplied)
      throw new UsageError('-no-cnv does not go together with -sys and --chat-template')
    return prompt
  }
  const template = await chatTemplateOf(flags)
  const system = systemPrompt === undefined ? [] : [{ role: 'system', content: systemPrompt }]
  return model.formatChat([...system, { role: 'user', content: prompt }], {
    ...(template !== undefined && { template }),
  })
}

/** What --chat-template and --chat-template-file say; undefined is the model's own. @throws UsageError */
export async function chatTemplateOf({
  chatTemplate,
  chatTemplateFile,
}: Pick<RunFlags, 'chatTemplate' | 'chatTemplateFile'>): Promise<string | undefined> {
  if (chatTemplate !== undefined && chatTemplateFile !== undefined)
    throw new UsageError('--chat-template and --chat-template-file were both given')
  const template =
    chatTemplateFile === undefined ? chatTemplate : await readTextFile(chatTemplateFile, 'the chat template ')
  if (template !== undefined && !template.includes('{')) {
    throw new UsageError(
      `--chat-template ${template} is not a template in Jinja`,
      "leave it out to use the model's own, or give the template itself",
    )
  }
  return template
}
