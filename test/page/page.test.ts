/** The page at `/`: a text is read, questions about it are answered, and what goes wrong is said. */

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { demoText } from '../../src/ts/model-maker/index.js'
import { type Fixtures, makeFixtures } from '../cli/support/models.js'
import { chromiumPath, launch, open, recallModel, serve, streamOf } from './support.js'

const filler =
  'The grass is green. The sky is blue. Here we go. There and back again. The sun is yellow.\n'.repeat(38)
const facts = { 'heavy school': 'north', 'useful river': 'honey', 'quiet garden': 'silver' }
/** 4883 tokens. What is stated in it the recall model finds with a probability of 0.999. */
const text = Object.entries(facts).reduce(
  (all, [key, value]) => `${all}- ${key}: ${value}\n${filler}`,
  filler,
)

const timings = {
  ...{ cache_n: 0, prompt_n: 9, prompt_ms: 9, prompt_per_second: 9, predicted_n: 2, predicted_per_second: 9 },
  h2o: { path: 'dense', gain_predicted: null },
}

describe.skipIf(!chromiumPath)('the page', () => {
  let browser: Browser
  let f: Fixtures
  let recall: Awaited<ReturnType<typeof serve>>
  let slow: Awaited<ReturnType<typeof serve>>
  beforeAll(async () => {
    f = await makeFixtures()
    recall = await serve(['-m', recallModel, '-t', '1'])
    slow = await serve(['-m', f.slowModel, '-c', '32768', '-t', '1'])
    browser = await launch()
  })
  afterAll(async () => {
    await browser?.close()
    await recall?.[Symbol.asyncDispose]()
    await slow?.[Symbol.asyncDispose]()
    await f?.remove()
  })

  it('reads a text, says how far it is, and answers three questions at once', async () => {
    await using opened = await open(browser, recall.url)
    const { page, asked, errors, button, ask } = opened
    await page.evaluate(() => {
      const seen = new Set<string>()
      Object.assign(globalThis, { seen })
      const look = () => {
        for (const { textContent } of document.querySelectorAll('.text .figures, [aria-live=polite]')) {
          seen.add(textContent ?? '')
        }
      }
      new MutationObserver(look).observe(document.body, {
        subtree: true,
        childList: true,
        characterData: true,
      })
    })
    await opened.text.fill(text)
    await button('Read it').click()
    for (const key of Object.keys(facts)) await ask(`? ${key}:`)
    const cards = page.getByRole('listitem')
    for (const [i, value] of Object.values(facts).reverse().entries()) {
      const card = cards.nth(i)
      await card.getByText(/dense about [\d.]+ s, predicted · \d+ tokens/).waitFor()
      expect(await card.locator('.answer').textContent()).toBe(value)
      expect(await card.textContent()).toMatch(/\d s to the first token/)
    }
    expect(await cards.count()).toBe(3)

    const seen = await page.evaluate(() => [...(globalThis as unknown as { seen: Set<string> }).seen])
    const steps = seen.filter((line) => /^[\d,]+ of [\d,]+ tokens · sparse attention · [\d.]+ s/.test(line))
    expect(steps.length, seen.join('\n')).toBeGreaterThan(0)
    expect(seen.filter((line) => /^(25|50|75) percent read\.$/.test(line))).not.toEqual([])
    const was = await page.locator('.text').innerText()
    expect(was).toMatch(
      /Read in\s+[\d.]+ s\s+Dense\s+about [\d.]+ s, predicted\s+4,8\d\d tokens · sparse attention/,
    )

    expect(errors).toEqual([])
    expect(asked.filter((url) => !url.startsWith(`${recall.url}/`))).toEqual([])
  })

  it('stops a text and a question, and the server stops, too', async () => {
    await using opened = await open(browser, slow.url)
    const { page, button, ask } = opened
    const isIdle = async () => {
      const metrics = await (await fetch(`${slow.url}/metrics`)).text()
      return metrics.includes('requests_processing 0') && metrics.includes('requests_deferred 0')
    }
    await opened.text.fill(demoText(30_000))
    await ask('and then?') // reads the text first
    await page.getByText(/of 30,\d+ tokens/).waitFor()
    await button('Stop').first().click()
    await page.getByText(/Stopped after [\d,]+ of 30,\d+ tokens/).waitFor()
    await page.getByText('Not asked, as the text was not read.').waitFor()
    await expect.poll(isIdle, { timeout: 3000 }).toBe(true)

    await opened.text.fill('')
    await ask(demoText(30_000))
    await page.getByText(/Reads [\d,]+ of 30,\d+ tokens/).waitFor()
    await page.getByRole('listitem').first().getByRole('button').click()
    await page.getByText('stopped', { exact: true }).waitFor()
    await expect.poll(isIdle, { timeout: 3000 }).toBe(true)
  })

  it('asks for a key, and keeps it in the tab', async () => {
    await using locked = await serve(['-m', f.model, '--api-key', 'right'])
    await using opened = await open(browser, locked.url)
    const { page, button, ask } = opened
    const key = page.getByLabel('This server wants an API key.')
    await key.fill('wrong')
    await key.press('Enter')
    await page.getByText('The server does not take this key.').waitFor()
    await key.fill('right')
    await button('Use it').click()
    await page.getByText('tiny.gguf').waitFor()
    await expect.poll(() => key.count()).toBe(0)
    await ask('x')
    await page.getByText(/to the first token/).waitFor()
    await page.reload()
    await page.getByText('tiny.gguf').waitFor()
    expect(await key.count()).toBe(0)
    expect(await page.evaluate(() => [sessionStorage.length, localStorage.length, document.cookie])).toEqual([
      1,
      0,
      '',
    ])
  })

  it.each([
    [1200, 'light'],
    [420, 'dark'],
  ] as const)('fits %i pixels and is %s', async (width, colorScheme) => {
    await using opened = await open(browser, recall.url, { viewport: { width, height: 800 }, colorScheme })
    const { page, button, ask } = opened
    const hidden = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    const luminance = (of: 'color' | 'backgroundColor') =>
      page.evaluate((name) => {
        const [r = 0, g = 0, b = 0] = getComputedStyle(document.body)[name].match(/\d+/g)?.map(Number) ?? []
        return (r + g + b) / (3 * 255)
      }, of)
    await opened.text.fill(`${'long'.repeat(100)}\n${text}`)
    expect(await hidden()).toBe(0)
    await button('Read it').click()
    await ask(`${'long'.repeat(50)} ? heavy school:`)
    await page.getByText(/to the first token/).waitFor()
    expect(await hidden()).toBe(0)
    const isDark = colorScheme === 'dark'
    expect((await luminance('backgroundColor')) < 0.2).toBe(isDark)
    expect((await luminance('color')) > 0.8).toBe(isDark)
  })

  it('can be used by keys alone', async () => {
    await using opened = await open(browser, recall.url)
    const { page } = opened
    const focused = () =>
      page.evaluate(() => {
        const { activeElement: now } = document
        const outline = now && getComputedStyle(now).outlineStyle
        return `${now?.ariaLabel ?? now?.textContent} ${now?.tagName} ${outline}`
      })
    await page.getByText('recall-q8_0.gguf').waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.insertText(text)
    await page.keyboard.press('Tab')
    expect(await focused()).toBe('Read it BUTTON solid')
    await page.keyboard.press('Enter')
    await opened.button('Another text').waitFor()
    expect(await focused()).toBe('Another text BUTTON solid')
    await page.keyboard.press('Tab')
    await page.keyboard.insertText('? heavy school:')
    await page.keyboard.press('Enter')
    await page.getByText('north', { exact: true }).waitFor()
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Space')
    await opened.button('Read it').waitFor()
    expect(await focused()).toBe('Read it BUTTON solid')
  })

  it('shows what a model says as text', async () => {
    await using opened = await open(browser, recall.url)
    const { page } = opened
    const said = '<img src=x onerror="document.title=1"> **a**\n  <script>document.title=2</script>'
    const body = streamOf({ choices: [{ text: said }] }, { choices: [{ text: '' }], timings })
    await page.route('**/v1/completions', (route) =>
      route.fulfill({ contentType: 'text/event-stream', body }),
    )
    await opened.ask('x')
    await page.getByText('2 tokens, 9/s').waitFor()
    expect(await page.locator('.answer').textContent()).toBe(said)
    expect(await page.title()).toContain('recall-q8_0.gguf')
    expect(await page.locator('img').count()).toBe(0)
  })

  it('takes a question before it knows what is served', async () => {
    await using opened = await open(browser, recall.url)
    const { page } = opened
    let goOn = async () => {}
    await page.route('**/props', (route) => {
      goOn = () => route.continue()
    })
    await page.reload({ waitUntil: 'commit' })
    await opened.ask('- heavy school: north\n? heavy school:')
    await page.getByText('Waits for its turn').waitFor()
    await goOn()
    await page.getByText(/to the first token/).waitFor()
  })

  it('opens a file that is dropped, and says of one that is no text what it is', async () => {
    await using opened = await open(browser, recall.url)
    const { page } = opened
    const drop = (name: string, content: string) =>
      page.evaluate(
        ([fileName, bytes]) => {
          const dataTransfer = new DataTransfer()
          dataTransfer.items.add(new File([bytes as string], fileName as string))
          document
            .querySelector('textarea')
            ?.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true }))
        },
        [name, content],
      )
    await drop('a.pdf', '%PDF-1.7 ...')
    await page.getByText('a.pdf is no plain text. Save it as text first.').waitFor()
    await drop('a.txt', text)
    await opened.button('Another text').waitFor()
    expect(await opened.text.inputValue()).toBe(text)
  })

  describe('says what to do', () => {
    it('when a text does not fit', async () => {
      await using opened = await open(browser, recall.url)
      await opened.text.fill(text.repeat(2))
      await opened.button('Read it').click()
      const said = opened.page.getByText(/maximum context length is 8192 tokens; the prompt has 9\d+/)
      expect(await said.textContent()).toMatch(
        /Shorten the text, or start the server with a larger context \(-c\)/,
      )
      expect(await opened.text.inputValue()).toBe(text.repeat(2))
    })

    it.each([
      [429, /Too many requests wait already. Try again in 7 seconds/],
      [503, /busy or is being stopped. Try again in a while/],
      [504, /larger --timeout/],
    ])('when the server answers with %i, and asks again', async (status, words) => {
      await using opened = await open(browser, recall.url)
      const { page } = opened
      const headers = { 'retry-after': '7' }
      await page.route(
        '**/v1/completions',
        (route) => route.fulfill({ status, headers, json: { error: {} } }),
        { times: 1 },
      )
      await opened.ask('? x:')
      await page.getByText(words).waitFor()
      await opened.button('Ask again ? x:').click()
      await page.getByText(/to the first token/).waitFor()
    })

    it('when the server is gone, in the middle of an answer, too', async () => {
      const gone = await serve(['-m', f.slowModel, '-c', '32768', '-t', '1'])
      await using opened = await open(browser, gone.url)
      const { page } = opened
      await opened.text.fill(demoText(30_000))
      await opened.button('Read it').click()
      await page.getByText(/of 30,\d+ tokens/).waitFor()
      await gone[Symbol.asyncDispose]()
      await page.getByText('The server does not answer. See whether it still runs').waitFor()
      await opened.text.fill('')
      await opened.ask('x')
      await page.getByRole('listitem').getByText('The server does not answer.').waitFor()
    })
  })
})
