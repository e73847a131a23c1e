// What users' own programs do: the official client, talking to the base URL in argv[2]. It prints what it got as JSON.
import OpenAI from 'openai'

const client = new OpenAI({ baseURL: process.argv[2], apiKey: 'sk-callers-own', maxRetries: 0 })
const ask = { model: 'chatwright-demo', messages: [{ role: 'user', content: 'What is two and two?' }] }
const got = {}

got.models = (await client.models.list()).data.map((model) => model.id)

const plain = await client.chat.completions.create(ask)
got.plain = { text: plain.choices[0].message.content, tokens: plain.usage.completion_tokens }

const chunks = []
for await (const chunk of await client.chat.completions.create({ ...ask, stream: true })) chunks.push(chunk)
got.stream = {
  text: chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join(''),
  finish: chunks.map((chunk) => chunk.choices[0]?.finish_reason).filter(Boolean),
  empty: chunks.filter((chunk) => chunk.choices.length === 0).length,
}

// The helper that puts the chunks together, and objects to those that do not fit.
const asking = client.chat.completions.stream({ ...ask, stream_options: { include_usage: true } })
const whole = await asking.finalChatCompletion()
got.asking = { text: whole.choices[0].message.content, tokens: whole.usage.completion_tokens }

const parameters = { type: 'object', required: ['city'], properties: { city: { type: 'string' } } }
const calling = client.chat.completions.stream({
  ...ask, tools: [{ type: 'function', function: { name: 'look', parameters } }], tool_choice: 'required',
})
const called = (await calling.finalChatCompletion()).choices[0]
got.tool = {
  finish: called.finish_reason,
  calls: called.message.tool_calls.map((call) => `${call.function.name}(${call.function.arguments})`),
}

const schema = {
  type: 'object', additionalProperties: false, required: ['action', 'done'],
  properties: { action: { type: 'string', enum: ['click', 'type'] }, done: { type: 'boolean' } },
}
const structured = await client.chat.completions.create({
  ...ask, response_format: { type: 'json_schema', json_schema: { name: 'step', strict: true, schema } },
})
got.structured = JSON.parse(structured.choices[0].message.content)

try {
  await client.chat.completions.create({ ...ask, model: 'gpt-none' })
} catch (error) {
  got.error = { name: error.constructor.name, status: error.status, code: error.code }
}

process.stdout.write(JSON.stringify(got))
