// JSON as text with structure. Values keep their text: 9007199254740993 and 1.0 stay what they
// are, and a message that is cut off can be read as far as it goes.

export type Kind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null' | 'cut'

/** Node is a value inside a text. Children are found when they are needed. */
export interface Node {
  text: string
  from: number
  to: number
  kind: Kind
  /** The name in its object, or the index in its array. */
  key?: string | number
  /** The value ends at the end of the text, but was not complete. */
  cut?: boolean
  ends: Ends
}

/**
 * Ends has where large objects and arrays of a text end, by where they begin; -1 for those that are
 * cut off. The first search for an end fills it, so a text is read once and not once for each level.
 */
type Ends = Map<number, number>

const large = 1000 // characters

const isSpace = (c: number) => c === 32 || c === 10 || c === 13 || c === 9

export function skipSpace(text: string, at: number): number {
  while (isSpace(text.charCodeAt(at))) at++
  return at
}

// endOfString returns the index after a string's closing quote, or -1 if it has none.
function endOfString(text: string, at: number): number {
  for (let i = at + 1; ; ) {
    const quote = text.indexOf('"', i)
    if (quote < 0) return -1
    let slashes = 0
    while (text.charCodeAt(quote - 1 - slashes) === 92) slashes++
    if (slashes % 2 === 0) return quote + 1
    i = quote + 1
  }
}

// endOfValue returns the index after the value at an index, or -1 if it is not complete.
function endOfValue(text: string, at: number, ends: Ends): number {
  const first = text.charCodeAt(at)
  if (first === 34) return endOfString(text, at)
  if (first !== 123 && first !== 91) {
    const end = /[\s,\]}]/g
    end.lastIndex = at
    return end.exec(text)?.index ?? text.length
  }
  const known = ends.get(at)
  if (known !== undefined) return known
  const open: number[] = []
  for (let i = at; i < text.length; ) {
    const c = text.charCodeAt(i)
    if (c === 34) {
      i = endOfString(text, i)
      if (i < 0) break
      continue
    }
    i++
    if (c === 123 || c === 91) open.push(i - 1)
    else if (c === 125 || c === 93) {
      const begin = open.pop()!
      if (i - begin > large) ends.set(begin, i)
      if (!open.length) return i
    }
  }
  for (const begin of open) ends.set(begin, -1)
  return -1
}

const kinds: Record<string, Kind> = { '{': 'object', '[': 'array', '"': 'string', t: 'boolean', f: 'boolean', n: 'null' }

function nodeAt(text: string, at: number, ends: Ends, key?: string | number): Node {
  const kind = kinds[text[at] ?? ''] ?? (at < text.length ? 'number' : 'cut')
  const end = endOfValue(text, at, ends)
  const node: Node = { text, from: at, to: end < 0 ? text.length : end, kind, ends }
  if (key !== undefined) node.key = key
  if (end < 0) node.cut = true
  return node
}

/** rootOf returns the value of a whole text. */
export const rootOf = (text: string): Node => nodeAt(text, skipSpace(text, 0), new Map())

export const textOf = (node: Node): string => node.text.slice(node.from, node.to)

/** stringOf returns the value of a string, as far as it goes. */
export function stringOf(node: Node): string {
  return unquote(textOf(node), node.cut)
}

function unquote(raw: string, cut = false): string {
  if (!raw.includes('\\') && !cut) return raw.slice(1, -1)
  if (cut) raw = raw.replace(/\\(?:u[\da-fA-F]{0,3})?$/, '') + '"'
  try {
    return JSON.parse(raw) as string
  } catch {
    return raw.slice(1, -1)
  }
}

/** childrenOf returns at most limit members or items, and whether there are more. */
export function childrenOf(node: Node, limit = Infinity): { list: Node[]; more: boolean } {
  const list: Node[] = []
  if (node.kind !== 'object' && node.kind !== 'array') return { list, more: false }
  const { text, to } = node
  let at = skipSpace(text, node.from + 1)
  while (at < to && text[at] !== '}' && text[at] !== ']') {
    if (list.length >= limit) return { list, more: true }
    let key: string | number = list.length
    if (node.kind === 'object') {
      const end = endOfString(text, at)
      if (end < 0 || end >= to) break
      key = unquote(text.slice(at, end))
      at = skipSpace(text, end)
      if (text[at] !== ':') break
      at = skipSpace(text, at + 1)
    }
    if (at >= to) break
    const child = nodeAt(text, at, node.ends, key)
    if (child.to <= at) break
    list.push(child)
    at = skipSpace(text, child.to)
    if (text[at] === ',') at = skipSpace(text, at + 1)
  }
  return { list, more: false }
}

/** childOf returns a member or an item, or undefined. */
export function childOf(node: Node | undefined, key: string | number): Node | undefined {
  if (!node) return undefined
  return childrenOf(node).list.find((child) => child.key === key)
}

/** follow returns the value at a path. */
export function follow(node: Node | undefined, ...path: (string | number)[]): Node | undefined {
  return path.reduce((n, key) => childOf(n, key), node)
}

/** pathText returns a path as people write it: $.rows[0]["odd name"]. */
export function pathText(path: (string | number)[]): string {
  const step = (key: string | number) =>
    typeof key === 'number' ? `[${key}]` : /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`
  return '$' + path.map(step).join('')
}

/** pointerOf returns a path as a JSON Pointer. */
export const pointerOf = (path: (string | number)[]): string =>
  path.map((key) => '/' + String(key).replace(/~/g, '~0').replace(/\//g, '~1')).join('')

/** Value is JSON that can be edited. Numbers keep their digits, objects their order. */
export type Value =
  | { t: 'object'; members: [string, Value][] }
  | { t: 'array'; items: Value[] }
  | { t: 'string'; text: string }
  | { t: 'raw'; text: string } // a number, true, false or null

export const nullValue: Value = { t: 'raw', text: 'null' }
export const isNull = (v: Value | undefined): boolean => v?.t === 'raw' && v.text === 'null'
export const emptyObject = (): Value => ({ t: 'object', members: [] })
export const stringValue = (text: string): Value => ({ t: 'string', text })

const number = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/
export const isNumber = (text: string): boolean => number.test(text)

/** parse returns the value of a text. It throws what JSON.parse throws. */
export function parse(text: string): Value {
  JSON.parse(text)
  return valueOf(rootOf(text))
}

/** valueOf returns a complete node as a value. */
export function valueOf(node: Node): Value {
  switch (node.kind) {
    case 'object':
      return { t: 'object', members: childrenOf(node).list.map((c) => [String(c.key), valueOf(c)]) }
    case 'array':
      return { t: 'array', items: childrenOf(node).list.map(valueOf) }
    case 'string':
      return stringValue(stringOf(node))
    default:
      return { t: 'raw', text: textOf(node) }
  }
}

/** from returns a decoded value. */
export const from = (value: unknown): Value => parse(JSON.stringify(value ?? null))

/** print returns a value as text. */
export function print(v: Value, indent = '', step = '  '): string {
  const inner = indent + step
  switch (v.t) {
    case 'raw':
      return v.text
    case 'string':
      return JSON.stringify(v.text)
    case 'array':
      if (!v.items.length) return '[]'
      return `[\n${v.items.map((i) => inner + print(i, inner, step)).join(',\n')}\n${indent}]`
    case 'object':
      if (!v.members.length) return '{}'
      return `{\n${v.members
        .map(([k, m]) => `${inner}${JSON.stringify(k)}: ${print(m, inner, step)}`)
        .join(',\n')}\n${indent}}`
  }
}

/** compact returns a value as text on one line. */
export function compact(v: Value): string {
  switch (v.t) {
    case 'array':
      return `[${v.items.map(compact).join(',')}]`
    case 'object':
      return `{${v.members.map(([k, m]) => `${JSON.stringify(k)}:${compact(m)}`).join(',')}}`
    default:
      return print(v)
  }
}

export type Path = (string | number)[]

/** at returns the value at a path, or undefined. */
export function at(v: Value | undefined, path: Path): Value | undefined {
  for (const key of path) {
    if (v?.t === 'object') v = v.members.find(([k]) => k === key)?.[1]
    else if (v?.t === 'array') v = v.items[Number(key)]
    else return undefined
  }
  return v
}

/** set returns a copy with another value at a path. Undefined removes it. Order is kept. */
export function set(v: Value | undefined, path: Path, value: Value | undefined, order: string[] = []): Value | undefined {
  if (!path.length) return value
  const [key, ...rest] = path as [string | number, ...Path]
  if (typeof key === 'number') {
    const items = v?.t === 'array' ? [...v.items] : []
    const changed = set(items[key], rest, value)
    if (changed === undefined) items.splice(key, 1)
    else items[key] = changed
    return { t: 'array', items }
  }
  const members: [string, Value][] = v?.t === 'object' ? [...v.members] : []
  const index = members.findIndex(([k]) => k === key)
  const changed = set(index < 0 ? undefined : members[index]![1], rest, value, rest.length ? order : [])
  if (changed === undefined) {
    if (index >= 0) members.splice(index, 1)
  } else if (index >= 0) members[index] = [key, changed]
  else insert(members, key, changed, rest.length ? [] : order)
  return { t: 'object', members }
}

// insert puts a new member before those that the schema names later.
function insert(members: [string, Value][], key: string, value: Value, order: string[]): void {
  const later = new Set(order.slice(order.indexOf(key) + 1))
  const before = order.includes(key) ? members.findIndex(([k]) => later.has(k)) : -1
  members.splice(before < 0 ? members.length : before, 0, [key, value])
}
