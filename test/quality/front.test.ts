// The front's table and charts, of figures that are made up.
import { expect, it } from 'vitest'
import { svg } from '../../bench/chart.mjs'
import { frontCharts, frontTable } from '../../bench/quality/front.mjs'
import { front, keyOf } from '../../bench/quality/settings.mjs'

// the first of each policy
const settings = front
  .filter(({ select }, i) => front.findIndex((one) => one.select === select) === i)
  .map((one) => ({ ...one, key: keyOf(one) }))
const keys = ['dense', ...settings.map(({ key }) => key)]
const part = { ratio: 0.999, ratio_uncertainty: 0.01, kld: 0.1 }
const result = {
  settings,
  times: keys.map((key, i) => ({ key, median: 1000 / (i + 1), min: 300, max: 1100 })),
  perplexity: settings.map(({ key }) => ({ key, length: 8192, prompt: part, continuation: part })),
  tasks: keys.flatMap((setting, i) =>
    (setting === 'dense' ? ['behind'] : ['prompt', 'behind']).map((ask) => ({
      ...{ setting, task: 'needle', length: 8192, ask },
      ...{ right: 10 - i, n: 10, low: 0.5, high: 1 },
    })),
  ),
}

it('has a row per setting, dense first', () => {
  const [text = ''] = frontTable(result)
  const rows = text.split('\n').slice(-3)
  expect(rows).toEqual([
    '| dense | 1000 (300–1100) | 1.00 |  |  |  |  | 10/10 | 10/10 |',
    '| L=256 H=256 | 500 (300–1100) | 2.00 | 0.9990 | 0.1000 | 0.9990 | 0.1000 | 9/10 | 9/10 |',
    '| query S=512 L=128 H=384 | 333 (300–1100) | 3.00 | 0.9990 | 0.1000 | 0.9990 | 0.1000 | 8/10 | 8/10 |',
  ])
  expect(frontTable({ ...result, times: undefined })).toEqual([])
})

it('has a row per setting in each chart, the fastest first', () => {
  const charts = frontCharts(result)
  expect(charts.map(({ title }) => title.split(',')[0])).toEqual([
    'Perplexity over dense perplexity',
    'Perplexity over dense perplexity',
    'needle',
  ])
  const bar = { x: 0.999, low: 0.989, high: expect.closeTo(1.009, 12) }
  expect(charts[0]).toMatchObject({
    rows: [
      { label: 'query S=512 L=128 H=384, 333 ms', ...bar },
      { label: 'L=256 H=256, 500 ms', ...bar },
    ],
    x: { from: 0.98 },
  })
  const picture = svg('two', charts)
  expect(picture.match(/<circle /g)).toHaveLength(6)
  expect(picture).toContain('>L=256 H=256, 500 ms<')
})
