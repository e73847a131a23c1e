// The AI test of the stand-in Studio. It asks what the real one asks, in the same order, at the address that the real
// one has by default: 127.0.0.1, whatever name the page was opened under.
import { element, show } from './dom.js'

const companion = 'http://127.0.0.1:' + location.port

export async function open(edition) {
  const sample = await (await fetch('/samples/greeting.json')).json()
  const run = element('button', 'Run the AI test')
  const outcome = element('pre', '')
  run.id = 'run'
  outcome.id = 'outcome'
  run.addEventListener('click', async () => {
    try {
      outcome.textContent = JSON.stringify(await test(sample.text))
    } catch (reason) {
      outcome.textContent = JSON.stringify({ failed: String(reason) })
    }
  })
  show(element('h1', 'Playground of ' + edition), run, outcome)
}

async function test(text) {
  const health = await json('/health')
  const models = (await json('/v1/models')).data.map((model) => model.id)
  const answer = await json('/v1/chat/completions', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      model: models[0],
      messages: [{ role: 'system', content: 'You test a chat bot.' }, { role: 'user', content: text }],
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'step', strict: true,
          schema: { type: 'object', properties: { say: { type: 'string' } }, required: ['say'], additionalProperties: false },
        },
      },
      max_tokens: 2048,
    }),
  })
  return { name: health.name, models, say: JSON.parse(answer.choices[0].message.content).say, usage: !!answer.usage }
}

async function json(path, init) {
  const answer = await fetch(companion + path, init)
  if (!answer.ok) throw new Error(path + ' answered ' + answer.status)
  return answer.json()
}
