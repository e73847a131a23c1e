// Queries to begin with, in the query language of data-state assertions.

import { dataExampleNames as names } from './texts.js'

export const dataExamples = [
	{ name: names.first, query: 'from: {name: lists}\nlimit: 10\n' },
	{
		name: names.conditions,
		query: `from: {name: lists, alias: l}
where:
  and:
    - {op: '==', left: {field: space_id}, right: {param: space}}
    - {op: In, left: {field: status}, right: {values: [active, done]}}
orderBy:
  - {field: title}
  - {field: updated_at, desc: true}
limit: 10
`,
		params: '{"space": "family"}',
	},
	{
		name: names.two,
		query: `from:
  name: lists
  alias: l
  joins:
    - type: left
      from: {name: items, alias: i}
      on: [{op: '==', left: {field: id, source: l}, right: {field: list_id, source: i}}]
columns:
  - {field: title, source: l, as: list}
  - {field: title, source: i, as: item}
limit: 10
`,
	},
	{
		name: names.groups,
		query: `from: {name: items}
groupBy:
  - {field: list_id}
orderBy:
  - {field: count, desc: true}
columns:
  - {field: list_id}
  - {aggregate: {function: count, args: [{star: true}]}, as: count}
`,
	},
]
