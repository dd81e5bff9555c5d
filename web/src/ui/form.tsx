// Forms drawn from Go's model of a schema. The JSON text is the truth: a field reads its value
// from it, and writes its value into it. Absent, null and empty are three things.
import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { get } from '../api'
import * as json from '../json'
import type { Form, Problem } from '../types'
import { Badge, Icon } from './kit'

export interface FormState {
  value: Signal<json.Value | undefined>
  problems: Signal<Problem[]>
  /** Loads the form of a schema that contains itself. */
  refs?: string
  /** Offers values for a field while it is typed into. */
  complete?: (key: string, value: string) => Promise<string[]>
  /** The user tried to send it, so missing fields are marked, too. */
  attempted?: Signal<boolean>
}

interface FieldProps {
  form: Form
  path: json.Path
  state: FormState
  /** The names of the siblings, in their order. */
  order?: string[]
  remove?: () => void
}

const types: Record<string, string> = {
  text: 'string', longtext: 'string', password: 'string', uri: 'URI', email: 'e-mail', datetime: 'date and time',
  file: 'base64', choice: 'one of', map: 'map', any: 'any JSON', none: 'nothing', const: 'constant',
}

function write(state: FormState, path: json.Path, value: json.Value | undefined, order?: string[]): void {
  state.value.value = json.set(state.value.value, path, value, order) ?? json.emptyObject()
}

/** defaultsOf returns an object with the members that have a default. */
export function defaultsOf(form: Form | undefined): json.Value {
  const members = (form?.children ?? [])
    .filter((c) => c.default !== undefined && c.key !== undefined)
    .map((c): [string, json.Value] => [c.key!, json.from(c.default)])
  return { t: 'object', members }
}

/** initial returns the value that a field starts with when it is added. */
export function initial(form: Form): json.Value {
  if (form.const !== undefined) return json.from(form.const)
  if (form.default !== undefined) return json.from(form.default)
  switch (form.kind) {
    case 'object': {
      const members = (form.children ?? [])
        .filter((c) => c.required && c.key !== undefined)
        .map((c): [string, json.Value] => [c.key!, initial(c)])
      return { t: 'object', members }
    }
    case 'map':
      return json.emptyObject()
    case 'array':
      return { t: 'array', items: [] }
    case 'tuple':
      return { t: 'array', items: (form.children ?? []).map(initial) }
    case 'boolean':
      return { t: 'raw', text: 'false' }
    case 'number':
    case 'integer':
      return { t: 'raw', text: form.min && !form.exclusiveMin ? form.min : '0' }
    case 'enum':
      return form.options?.length ? json.from(form.options[0]!.value) : json.nullValue
    case 'choice':
      return form.branches?.length ? initial(form.branches[0]!) : json.nullValue
    case 'null':
    case 'any':
      return json.nullValue
    default:
      return json.stringValue('')
  }
}

// range says a lower and an upper limit in words.
function range(min: string | undefined, max: string | undefined, unit = '', over = false, under = false): string {
  const [least, most] = [over ? '>' : '≥', under ? '<' : '≤']
  if ((max ?? min) === '1') unit = unit.slice(0, -1)
  if (min !== undefined && max !== undefined && !over && !under) return min === max ? `${min}${unit}` : `${min}–${max}${unit}`
  return [min !== undefined && `${least} ${min}`, max !== undefined && `${most} ${max}`].filter(Boolean).join(' and ') + unit
}

function limits(form: Form): string {
  const parts: string[] = []
  const add = (min?: string, max?: string, unit = '') => {
    if (min !== undefined || max !== undefined) parts.push(range(min, max, unit, unit === '' && form.exclusiveMin, unit === '' && form.exclusiveMax))
  }
  add(form.min, form.max)
  if (form.step) parts.push(`step ${form.step}`)
  add(form.minLength, form.maxLength, ' characters')
  add(form.minItems, form.maxItems, ' items')
  if (form.unique) parts.push('no item twice')
  if (form.pattern) parts.push(`/${form.pattern}/`)
  return parts.join(' · ')
}

const show = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value)) ?? ''

// label returns the name of a field with what the schema says of it.
function Label({ form, id, name, as }: { form: Form; id: string; name: string; as?: 'group' }) {
  const text = (
    <>
      <span class="field-name">{name}</span>
      {form.required && <span class="required" title="required">*</span>}
    </>
  )
  return (
    <div class="field-label">
      {as ? <span id={`${id}-label`}>{text}</span> : <label for={id} id={`${id}-label`}>{text}</label>}
      <span class="field-type">
        {types[form.kind] ?? form.kind}
        {form.nullable && ' or null'}
      </span>
      {form.readOnly && <Badge title="readOnly: the server sets it">read-only</Badge>}
      {form.header && <Badge title="Also sent as this HTTP header">{form.header}</Badge>}
    </div>
  )
}

const idOf = (path: json.Path): string => 'f' + json.pointerOf(path).replace(/[^\w/-]/g, (c) => `_${c.charCodeAt(0)}`)

const isNested = (form: Form): boolean => ['object', 'map', 'array', 'tuple', 'choice'].includes(form.kind)

/** Field draws a value with its label, its state and the problems with it. */
export function Field(props: FieldProps) {
  const { form, path, state, order } = props
  const value = json.at(state.value.value, path)
  const id = idOf(path)
  const pointer = json.pointerOf(path)
  const own = value === undefined && !state.attempted?.value ? [] : state.problems.value.filter((p) => p.pointer === pointer)
  const nested = isNested(form)
  const name = form.label && form.label !== form.key ? `${form.key ?? ''}` || form.label : (form.key ?? form.label ?? String(path.at(-1) ?? ''))
  const body = value === undefined && nested ? null : <Control {...props} id={id} value={value} />
  return (
    <div class={`field ${nested ? 'nested' : ''} ${value === undefined ? 'absent' : ''} ${own.length ? 'wrong' : ''}`} role={nested ? 'group' : undefined} aria-labelledby={nested ? `${id}-label` : undefined}>
      <Label form={form} id={id} name={name} {...(nested || value === undefined && form.kind === 'const' || form.kind === 'null' || form.kind === 'none' ? { as: 'group' as const } : {})} />
      <div class="field-control">
        {!nested && body}
        {nested && value === undefined && (
          <button type="button" class="small ghost" onClick={() => write(state, path, initial(form), order)}>
            Add {name}
          </button>
        )}
        <StateSelect {...props} value={value} name={name} />
        {props.remove && (
          <button type="button" class="quiet small" aria-label={`Remove ${name}`} title="Remove" onClick={props.remove}>
            <Icon name="close" />
          </button>
        )}
      </div>
      <Help form={form} name={name} offersDefault={value === undefined} write={(v) => write(state, path, v, order)} />
      {own.map((p) => (
        <div class="field-problem" id={`${id}-problem`}>
          <span aria-hidden="true">⚠</span> {p.text}
        </div>
      ))}
      {nested && value !== undefined && <div class="field-body">{body}</div>}
    </div>
  )
}

// Help is what the schema says about a value besides its kind.
function Help({ form, name, offersDefault, write: set }: {
  form: Form
  name: string
  offersDefault?: boolean
  write?: (value: json.Value) => void
}) {
  const limit = limits(form)
  const label = form.label && form.label !== name
  const offered = offersDefault && form.default !== undefined
  if (!form.help && !limit && !offered && !form.more && !label && !form.examples?.length) return null
  return (
    <div class="field-help">
      {label && <strong>{form.label} </strong>}
      {form.help}
      {limit && <span class="limit">{limit}</span>}
      {offered && (
        <button type="button" class="link" onClick={() => set?.(json.from(form.default))}>
          default {show(form.default).slice(0, 60)}
        </button>
      )}
      {set && form.examples?.slice(0, 3).map((e) => (
        <button type="button" class="link" onClick={() => set(json.from(e))}>
          {show(e).slice(0, 60)}
        </button>
      ))}
      {form.more && <span class="more">also checked: {form.more}</span>}
    </div>
  )
}

// StateSelect says whether a value is absent, null, empty or there, and changes that.
function StateSelect({ form, path, state, order, value, name }: FieldProps & { value: json.Value | undefined; name: string }) {
  const inList = typeof path.at(-1) === 'number'
  const isText = !['object', 'map', 'array', 'tuple', 'choice', 'boolean', 'number', 'integer', 'enum', 'const', 'null', 'any', 'none'].includes(form.kind)
  const isList = form.kind === 'array' || form.kind === 'map'
  const isEmpty =
    (value?.t === 'string' && value.text === '') || (value?.t === 'array' && !value.items.length) || (value?.t === 'object' && !value.members.length && form.kind === 'map')
  const now = value === undefined ? 'absent' : json.isNull(value) ? 'null' : isEmpty && (isText || isList) ? 'empty' : 'value'
  const change = (to: string) => {
    const values: Record<string, json.Value | undefined> = {
      absent: undefined,
      null: json.nullValue,
      empty: form.kind === 'array' ? { t: 'array', items: [] } : form.kind === 'map' ? json.emptyObject() : json.stringValue(''),
      value: now === 'value' ? value : initial(form),
    }
    write(state, path, values[to], order)
  }
  return (
    <select class={`state is-${now}`} aria-label={`State of ${name}`} value={now} onChange={(e) => change(e.currentTarget.value)}>
      {!inList && <option value="absent">absent</option>}
      <option value="null">null</option>
      {(isText || isList) && <option value="empty">empty</option>}
      <option value="value">value</option>
    </select>
  )
}

type ControlProps = FieldProps & { id: string; value: json.Value | undefined }

function Control(props: ControlProps): ComponentChildren {
  switch (props.form.kind) {
    case 'object':
      return props.form.ref && !props.form.children ? <Recursive {...props} /> : <Members {...props} />
    case 'map':
      return <Members {...props} />
    case 'array':
    case 'tuple':
      return <Items {...props} />
    case 'choice':
      return <Choice {...props} />
    case 'boolean':
      return <Bool {...props} />
    case 'enum':
      return <Enum {...props} />
    case 'file':
      return <File {...props} />
    case 'const':
    case 'null':
    case 'none':
      return <Fixed {...props} />
    case 'any':
      return <Raw {...props} />
    default:
      if (props.form.ref && !props.form.children) return <Recursive {...props} />
      return <Text {...props} />
  }
}

// Text edits strings and numbers. A number that is none is sent as the text it is.
function Text({ form, path, state, order, id, value }: ControlProps) {
  const isNumber = form.kind === 'number' || form.kind === 'integer'
  const isLong = form.kind === 'longtext'
  const text = value === undefined ? '' : value.t === 'string' ? value.text : json.isNull(value) ? '' : json.compact(value)
  const options = useSignal<string[]>([])
  const completing = useRef(0)
  const change = (to: string) => {
    if (isNumber && to === '' && value?.t !== 'string') return write(state, path, undefined, order)
    write(state, path, isNumber && json.isNumber(to) ? { t: 'raw', text: to } : json.stringValue(to), order)
    clearTimeout(completing.current)
    if (state.complete) completing.current = window.setTimeout(() => offer(to), 120)
  }
  const offer = (typed: string) => {
    if (state.complete && form.key) void state.complete(form.key, typed).then((list) => (options.value = list), () => undefined)
  }
  const common = {
    id,
    value: text,
    placeholder: value === undefined ? (form.default !== undefined ? show(form.default) : '') : json.isNull(value) ? 'null' : value.t === 'string' && !text ? '""' : '',
    'aria-invalid': (value !== undefined || !!state.attempted?.value) && state.problems.value.some((p) => p.pointer === json.pointerOf(path)),
    'aria-required': form.required,
    spellcheck: false,
    autocomplete: 'off',
  } as const
  if (isLong) return <textarea {...common} rows={Math.min(10, Math.max(3, text.split('\n').length))} onInput={(e) => change(e.currentTarget.value)} />
  return (
    <>
      {state.complete ? (
        <input {...common} type="text" list={`${id}-options`} onFocus={() => offer(text)} onInput={(e) => change(e.currentTarget.value)} />
      ) : (
        <input
          {...common}
          type="text"
          inputMode={isNumber ? 'decimal' : 'text'}
          class={isNumber ? 'number' : form.kind === 'password' ? 'masked' : undefined}
          onInput={(e) => change(e.currentTarget.value)}
        />
      )}
      {state.complete && (
        <datalist id={`${id}-options`}>
          {options.value.map((o) => (
            <option value={o} />
          ))}
        </datalist>
      )}
      {['date', 'time', 'datetime', 'color'].includes(form.kind) && <Picker kind={form.kind} name={form.key ?? ''} onPick={change} />}
    </>
  )
}

// Picker fills a text field from the browser's own control.
function Picker({ kind, name, onPick }: { kind: string; name: string; onPick: (text: string) => void }) {
  const type = kind === 'date' || kind === 'time' || kind === 'color' ? kind : 'datetime-local'
  return (
    <input
      class="picker"
      type={type}
      aria-label={`Pick ${name}`}
      step={kind === 'datetime' || kind === 'time' ? 1 : undefined}
      onInput={(e) => {
        const text = e.currentTarget.value
        if (!text) return
        onPick(kind === 'datetime' ? new Date(text).toISOString() : text)
      }}
    />
  )
}

function Bool({ path, state, order, id, value, form }: ControlProps) {
  const now = value?.t === 'raw' ? value.text : ''
  return (
    <div class="segments" role="radiogroup" aria-labelledby={`${id}-label`} id={id}>
      {['true', 'false'].map((option) => (
        <label class={now === option ? 'on' : ''}>
          <input type="radio" name={id} checked={now === option} onChange={() => write(state, path, { t: 'raw', text: option }, order)} />
          {option}
          {value === undefined && show(form.default) === option ? ' (default)' : ''}
        </label>
      ))}
    </div>
  )
}

function Enum({ form, path, state, order, id, value }: ControlProps) {
  const options = form.options ?? []
  const now = value === undefined ? '' : json.compact(value)
  const texts = options.map((o) => json.compact(json.from(o.value)))
  const index = texts.indexOf(now)
  const choose = (i: number) => write(state, path, i < 0 ? undefined : json.from(options[i]!.value), order)
  const wide = options.reduce((n, o) => n + o.label.length + 3, 0)
  if (options.length <= 5 && wide < 60) {
    return (
      <div class="segments" role="radiogroup" aria-labelledby={`${id}-label`} id={id}>
        {options.map((o, i) => (
          <label class={i === index ? 'on' : ''}>
            <input type="radio" name={id} checked={i === index} onChange={() => choose(i)} />
            {o.label}
          </label>
        ))}
        {value !== undefined && index < 0 && <span class="warn-text">{now.slice(0, 60)}</span>}
      </div>
    )
  }
  return (
    <select id={id} value={index} onChange={(e) => choose(Number(e.currentTarget.value))}>
      <option value={-1}>{value === undefined || index >= 0 ? 'choose' : now.slice(0, 60)}</option>
      {options.map((o, i) => (
        <option value={i}>{o.label}</option>
      ))}
    </select>
  )
}

function Fixed({ form, path, state, order, value }: ControlProps) {
  const wanted = form.kind === 'const' ? json.from(form.const) : json.nullValue
  if (form.kind === 'none') return <span class="muted">the schema accepts no value here</span>
  const text = json.compact(wanted).slice(0, 200)
  if (value !== undefined) return <code>{json.compact(value).slice(0, 200)}</code>
  return (
    <button type="button" class="small ghost" onClick={() => write(state, path, wanted, order)}>
      Set to {text}
    </button>
  )
}

// Raw edits any JSON as text; what cannot be parsed yet is not written.
function Raw({ path, state, order, id, value }: ControlProps) {
  const draft = useSignal<string | undefined>(undefined)
  const text = draft.value ?? (value === undefined ? '' : json.print(value))
  const change = (to: string) => {
    try {
      write(state, path, to.trim() === '' ? undefined : json.parse(to), order)
      draft.value = undefined
    } catch {
      draft.value = to
    }
  }
  return (
    <>
      <textarea id={id} class="mono" rows={Math.min(12, Math.max(2, text.split('\n').length))} spellcheck={false} value={text} placeholder="any JSON" onInput={(e) => change(e.currentTarget.value)} />
      {draft.value !== undefined && <span class="warn-text">not JSON yet</span>}
    </>
  )
}

// toBase64 encodes bytes piece by piece: a call has a limited number of arguments.
function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (let i = 0; i < bytes.length; i += 8190) text += btoa(String.fromCharCode(...bytes.subarray(i, i + 8190)))
  return text
}

const maxFile = 24 << 20

function File(props: ControlProps) {
  const { path, state, order, value, form } = props
  const over = useSignal(false)
  const note = useSignal('')
  const take = async (file: globalThis.File | undefined) => {
    over.value = false
    if (!file) return
    if (file.size > maxFile) {
      note.value = `${file.name} is larger than 24 MB`
      return
    }
    const bytes = new Uint8Array(await file.arrayBuffer())
    write(state, path, json.stringValue(toBase64(bytes)), order)
    note.value = `${file.name}, ${bytes.length} bytes`
  }
  const length = value?.t === 'string' ? value.text.length : 0
  return (
    <div
      class={over.value ? 'drop over' : 'drop'}
      onDragOver={(e) => {
        e.preventDefault()
        over.value = true
      }}
      onDragLeave={() => (over.value = false)}
      onDrop={(e) => {
        e.preventDefault()
        void take(e.dataTransfer?.files[0])
      }}
    >
      {length < 2000 ? <Text {...props} form={{ ...form, kind: 'text' }} /> : <span>{length} characters of base64</span>}
      <label class="button small">
        Choose or drop a file
        <input type="file" class="hidden-input" accept={form.mediaType} onChange={(e) => void take(e.currentTarget.files?.[0])} />
      </label>
      <span class="muted">{note.value}</span>
    </div>
  )
}

// Members draws the members of an object that the schema names, and those it does not.
function Members({ form, path, state, value }: ControlProps) {
  const children = form.children ?? []
  const order = children.map((c) => c.key ?? '')
  const adding = useSignal('')
  const open = useSignal(false)
  const members = value?.t === 'object' ? value.members : []
  const others = members.filter(([key]) => !order.includes(key))
  const rest = form.items ?? { kind: 'any', pointer: '' }
  const canAdd = form.kind === 'map' || form.open || form.items
  const add = () => {
    if (!adding.value || members.some(([k]) => k === adding.value)) return
    write(state, [...path, adding.value], initial(rest))
    adding.value = ''
    open.value = false
  }
  return (
    <div class="members">
      {value !== undefined && value.t !== 'object' && <p class="warn-text">This is no object: {json.compact(value).slice(0, 100)}</p>}
      {children.map((child) => (
        <Field key={child.key} form={child} path={[...path, child.key!]} state={state} order={order} />
      ))}
      {others.map(([key]) => (
        <Field
          key={`+${key}`}
          form={{ ...rest, key, required: false }}
          path={[...path, key]}
          state={state}
          remove={() => write(state, [...path, key], undefined)}
        />
      ))}
      {canAdd && !open.value && (
        <button type="button" class="link small-text adder" onClick={() => (open.value = true)}>
          {form.kind === 'map' ? 'Add an entry' : 'Add another field'}
        </button>
      )}
      {canAdd && open.value && (
        <div class="adder">
          <input
            ref={focusNow}
            class="small"
            placeholder={form.keyPattern ? `name, ${form.keyPattern}` : 'name'}
            aria-label={`Name of another field of ${form.key ?? 'the arguments'}`}
            value={adding.value}
            onInput={(e) => (adding.value = e.currentTarget.value)}
            onKeyDown={(e) => {
              if (e.key !== 'Enter' || e.ctrlKey || e.metaKey) return
              e.preventDefault()
              add()
            }}
          />
          <button type="button" class="small" disabled={!adding.value} onClick={add}>
            Add
          </button>
        </div>
      )}
    </div>
  )
}

// focusNow is one function, so that it is called once for each element.
const focusNow = (e: HTMLInputElement | null): void => e?.focus()

const maxShown = 100

function Items({ form, path, state, value }: ControlProps) {
  const items = value?.t === 'array' ? value.items : []
  const fixed = form.children ?? []
  // JSON can still send more items than the schema accepts.
  const isFull = form.kind === 'tuple' && !form.open && items.length >= fixed.length
  const rest = form.items ?? { kind: 'any', pointer: '' }
  const options = form.kind === 'array' && form.unique && form.items?.kind === 'enum' ? (form.items.options ?? []) : []
  if (options.length && options.length <= 40) {
    const chosen = items.map(json.compact)
    const toggle = (text: string, on: boolean) => {
      const next = on ? [...items, json.parse(text)] : items.filter((i) => json.compact(i) !== text)
      write(state, path, { t: 'array', items: next })
    }
    return (
      <div class="checks">
        {options.map((o) => {
          const text = json.compact(json.from(o.value))
          return (
            <label>
              <input type="checkbox" checked={chosen.includes(text)} onChange={(e) => toggle(text, e.currentTarget.checked)} />
              {o.label}
            </label>
          )
        })}
      </div>
    )
  }
  return (
    <div class="items">
      {value !== undefined && value.t !== 'array' && <p class="warn-text">This is no array: {json.compact(value).slice(0, 100)}</p>}
      {items.slice(0, maxShown).map((_, i) => (
        <Field
          key={i}
          form={{ ...(fixed[i] ?? rest), key: fixed[i]?.label ?? String(i) }}
          path={[...path, i]}
          state={state}
          remove={() => write(state, [...path, i], undefined)}
        />
      ))}
      {items.length > maxShown && <p class="muted">{items.length - maxShown} more items: edit them as JSON</p>}
      {!isFull && (
        <button
          type="button"
          class="small ghost"
          onClick={() => write(state, [...path, items.length], initial(fixed[items.length] ?? rest))}
        >
          Add an item
        </button>
      )}
    </div>
  )
}

// fits guesses which branch a value belongs to: the one whose constants and names it has.
function fits(form: Form, value: json.Value | undefined): number {
  if (value === undefined) return -1
  switch (form.kind) {
    case 'const':
      return json.compact(json.from(form.const)) === json.compact(value) ? 5 : -1
    case 'enum':
      return (form.options ?? []).some((o) => json.compact(json.from(o.value)) === json.compact(value)) ? 4 : -1
    case 'object':
    case 'map': {
      if (value.t !== 'object') return -1
      let points = 1
      for (const child of form.children ?? []) {
        const member = json.at(value, [child.key!])
        if (member === undefined) points -= child.required ? 1 : 0
        else points += fits(child, member) < 0 ? (child.kind === 'const' ? -10 : 0) : 2
      }
      return Math.max(points, 0)
    }
    case 'array':
    case 'tuple':
      return value.t === 'array' ? 2 : -1
    case 'boolean':
      return value.t === 'raw' && /^(true|false)$/.test(value.text) ? 2 : -1
    case 'number':
    case 'integer':
      return value.t === 'raw' && json.isNumber(value.text) ? (form.kind === 'integer' && /[.eE]/.test(value.text) ? -1 : 2) : -1
    case 'null':
      return json.isNull(value) ? 3 : -1
    case 'any':
      return 0
    case 'choice':
      return Math.max(-1, ...(form.branches ?? []).map((b) => fits(b, value)))
    default:
      return value.t === 'string' ? 1 : -1
  }
}

function Choice(props: ControlProps) {
  const { form, path, state, order, id, value } = props
  const branches = form.branches ?? []
  const chosen = useSignal(-1)
  const points = branches.map((b) => fits(b, value))
  const best = points.indexOf(Math.max(...points))
  const current = chosen.value >= 0 && points[chosen.value]! >= 0 ? chosen.value : (points[best] ?? -1) >= 0 ? best : Math.max(0, chosen.value)
  const branch = branches[current]
  const choose = (i: number) => {
    chosen.value = i
    write(state, path, initial(branches[i]!), order)
  }
  return (
    <div class="choice">
      <select id={id} aria-label={`Kind of ${form.key ?? 'value'}`} value={current} onChange={(e) => choose(Number(e.currentTarget.value))}>
        {branches.map((b, i) => (
          <option value={i}>{b.label ?? b.key ?? b.kind}</option>
        ))}
      </select>
      {branch && (
        <div class="branch">
          {!isNested(branch) && (
            <label class="sr" for={`${id}-branch`} id={`${id}-branch-label`}>
              {form.key}, {branch.label ?? branch.kind}
            </label>
          )}
          <Control {...props} id={`${id}-branch`} form={{ ...branch, ...(form.key !== undefined ? { key: form.key } : {}) }} />
          <Help form={branch} name={branch.label ?? ''} />
        </div>
      )}
    </div>
  )
}

// Recursive loads the form of a schema inside itself when there is a value for it.
function Recursive(props: ControlProps) {
  const loaded = useSignal<Form | undefined>(undefined)
  const failed = useSignal(false)
  const { ref } = props.form
  useEffect(() => {
    const from = props.state.refs
    if (!from) {
      failed.value = true
      return
    }
    get<Form>(`form?${from}&ref=${encodeURIComponent(ref!)}`).then(
      (f) => (loaded.value = f),
      () => (failed.value = true),
    )
  }, [ref])
  if (failed.value) return <Raw {...props} />
  if (!loaded.value) return <span class="muted">…</span>
  const { key, label } = props.form
  const form = { ...loaded.value, ...(key !== undefined ? { key } : {}), ...(label !== undefined ? { label } : {}) }
  return <Control {...props} form={form} />
}

/** FormView draws the fields of a whole form. */
export function FormView({ form, state }: { form: Form; state: FormState }) {
  const value = state.value.value
  const whole = state.problems.value.filter((p) => p.pointer === '')
  return (
    <div class="form-fields">
      {whole.map((p) => (
        <div class="field-problem">
          <span aria-hidden="true">⚠</span> {p.text}
        </div>
      ))}
      <Help form={{ kind: form.kind, pointer: '', ...(form.help ? { help: form.help } : {}), ...(form.more ? { more: form.more } : {}) }} name="" />
      {form.kind === 'object' && !form.children?.length && !form.open && !form.items ? (
        <p class="muted">No arguments.</p>
      ) : (
        <Control form={form} path={[]} state={state} id="f" value={value ?? json.emptyObject()} />
      )}
    </div>
  )
}
