// How a model is asked. `none` is a base model: the text goes on where the answer begins.

const forms = {
  chatml: {
    begin: '<|im_start|>user\n',
    turn: '<|im_end|>\n<|im_start|>assistant\nI have read it. What is the question?<|im_end|>\n<|im_start|>user\n',
    answer: '<|im_end|>\n<|im_start|>assistant\n',
  },
  gemma: {
    begin: '<start_of_turn>user\n',
    turn: '<end_of_turn>\n<start_of_turn>model\nI have read it. What is the question?<end_of_turn>\n<start_of_turn>user\n',
    answer: '<end_of_turn>\n<start_of_turn>model\n',
  },
  none: { begin: '', turn: '\n\n', answer: '\n' },
}

/** Where the question stands: after the text in the same prompt, in a turn of its own, or before the text as well. */
export const places = ['end', 'turn', 'before']

/**
 * The prompt in two parts, of which the second one is a call of its own where the question is a turn; else it is ''.
 *
 * @param {import('./ruler.mjs').Item} item  @param {keyof typeof forms} chat
 */
export function promptOf({ intro, document, question, prefix }, place, chat) {
  const { begin, turn, answer } = forms[chat]
  const text = `${begin}${place === 'before' ? `${question}\n` : ''}${intro}\n${document}\n`
  const asked = `${question}${answer}${prefix}`
  return place === 'turn'
    ? { text: text.trimEnd(), asked: `${turn}${asked}` }
    : { text: `${text}${asked}`, asked: '' }
}
