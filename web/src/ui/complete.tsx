// A text field for a prompt argument or a template variable, with what the server would complete.
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { post } from '../api'
import { duration } from '../format'

interface Answer {
  values: string[] | null
  total?: number
  hasMore?: boolean
  ns?: number
}

/** Complete is a labelled field. Undefined is absent, '' is empty. */
export function Complete({ label, title, help, required, value, source, of, others, offered, problem, onChange }: {
  label: string
  title?: string | undefined
  help?: string | undefined
  required?: boolean | undefined
  value: string | undefined
  source: number
  of: { prompt: string } | { template: string }
  others: Record<string, string>
  offered: boolean
  problem?: string | undefined
  onChange: (to: string | undefined) => void
}) {
  const answer = useSignal<Answer | undefined>(undefined)
  const open = useSignal(false)
  const at = useSignal(-1)
  const timer = useRef(0)
  const id = `c-${label.replace(/\W/g, '_')}`
  const ask = (typed: string, wait = 100) => {
    if (!offered) return
    clearTimeout(timer.current)
    timer.current = window.setTimeout(() => {
      const rest = Object.fromEntries(Object.entries(others).filter(([k]) => k !== label))
      post<Answer>('complete', { source, ...of, argument: label, value: typed, arguments: rest, field: id }).then(
        (a) => {
          answer.value = a
          at.value = -1
        },
        () => undefined,
      )
    }, wait)
  }
  useEffect(() => () => clearTimeout(timer.current), [])
  const values = answer.value?.values ?? []
  const isOpen = open.value && values.length > 0
  const choose = (text: string) => {
    onChange(text)
    open.value = false
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey) return
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      open.value = true
      const step = event.key === 'ArrowDown' ? 1 : -1
      at.value = values.length ? (at.value + step + values.length) % values.length : -1
    } else if (event.key === 'Enter' && isOpen && at.value >= 0) choose(values[at.value]!)
    else if (event.key === 'Escape' && isOpen) open.value = false
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <div class={problem ? 'field wrong' : 'field'}>
      <div class="field-label">
        <label for={id}>
          <span class="field-name">{label}</span>
          {required && <span class="required" title="required">*</span>}
        </label>
        {title && <span class="field-type">{title}</span>}
      </div>
      <div class="field-control combo">
        <input
          id={id}
          type="text"
          role="combobox"
          aria-expanded={isOpen}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-required={required}
          aria-activedescendant={isOpen && at.value >= 0 ? `${id}-${at.value}` : undefined}
          autocomplete="off"
          spellcheck={false}
          value={value ?? ''}
          placeholder={value === undefined ? 'absent' : value === '' ? 'empty' : ''}
          onFocus={() => {
            open.value = true
            ask(value ?? '', 0)
          }}
          onBlur={() => (open.value = false)}
          onInput={(e) => {
            onChange(e.currentTarget.value)
            open.value = true
            ask(e.currentTarget.value)
          }}
          onKeyDown={onKey}
        />
        <select class="state" aria-label={`State of ${label}`} value={value === undefined ? 'absent' : value ? 'value' : 'empty'} onChange={(e) => onChange(e.currentTarget.value === 'absent' ? undefined : e.currentTarget.value === 'empty' ? '' : (value ?? ''))}>
          <option value="absent">absent</option>
          <option value="empty">empty</option>
          <option value="value" disabled={!value}>
            value
          </option>
        </select>
        <ul class="combo-list" role="listbox" id={`${id}-list`} aria-label={`Completions of ${label}`} hidden={!isOpen}>
          {values.slice(0, 100).map((text, i) => (
            <li
              role="option"
              id={`${id}-${i}`}
              aria-selected={i === at.value}
              onPointerDown={(e) => {
                e.preventDefault()
                choose(text)
              }}
            >
              {text}
            </li>
          ))}
          {answer.value && (
            <li class="combo-foot" role="presentation">
              {values.length}
              {answer.value.total ? ` of ${answer.value.total}` : answer.value.hasMore ? ' and more' : ''} in {duration(answer.value.ns)}
            </li>
          )}
        </ul>
      </div>
      {help && <div class="field-help">{help}</div>}
      {problem && (
        <div class="field-problem">
          <span aria-hidden="true">⚠</span> {problem}
        </div>
      )}
    </div>
  )
}
