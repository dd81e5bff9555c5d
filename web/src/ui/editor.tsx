// The editor of arguments: a form and JSON text, two views of one draft.
import type { Signal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import type { Draft } from '../draft'
import type { Form, Problem } from '../types'
import { FormView, type FormState } from './form'

const token = /("(?:\\.|[^"\\])*"?)(\s*:)?|(-?\d[\d.eE+-]*)|\b(true|false|null)\b/g

// highlight returns JSON text as coloured parts; ranges with problems are underlined.
function highlight(text: string, problems: Problem[]) {
  const out = []
  let last = 0
  const wrong = (from: number, to: number) => problems.some((p) => p.at && p.at[0] < to && p.at[1] > from)
  for (const m of text.matchAll(token)) {
    if (m.index > last) out.push(text.slice(last, m.index))
    last = m.index + m[0].length
    const kind = m[1] ? (m[2] ? 'json-key' : 'json-string') : m[3] ? 'json-number' : 'json-boolean'
    out.push(<span class={wrong(m.index, last) ? `${kind} wavy` : kind}>{m[0]}</span>)
  }
  out.push(text.slice(last))
  return out
}

/** CodeArea is a text field for JSON. */
export function CodeArea({ text, onChange, problems = [], label, rows = 8 }: {
  text: string
  onChange: (text: string) => void
  problems?: Problem[]
  label: string
  rows?: number
}) {
  const back = useRef<HTMLPreElement>(null)
  const area = useRef<HTMLTextAreaElement>(null)
  const show = (p: Problem) => {
    if (!p.at || !area.current) return
    area.current.focus()
    area.current.setSelectionRange(p.at[0], p.at[1])
  }
  const onKey = (event: KeyboardEvent) => {
    // Tab leaves the field, as everywhere; Ctrl+] is not needed for a few lines of JSON.
    if (event.key !== 'Enter' || event.ctrlKey || event.metaKey || event.shiftKey) return
    const field = area.current!
    const line = field.value.slice(0, field.selectionStart).split('\n').at(-1)!
    const indent = /^\s*/.exec(line)![0] + (/[{[]\s*$/.test(line) ? '  ' : '')
    if (!indent) return
    event.preventDefault()
    field.setRangeText('\n' + indent, field.selectionStart, field.selectionEnd, 'end')
    onChange(field.value)
  }
  const colored = text.length < 20_000
  return (
    <div class="code-field">
      <div class={colored ? 'code-area' : 'code-area plain'}>
        {colored && (
          <pre ref={back} aria-hidden="true">
            {highlight(text, problems)}
            {'\n'}
          </pre>
        )}
        <textarea
          ref={area}
          rows={rows}
          value={text}
          aria-label={label}
          aria-invalid={problems.length > 0}
          spellcheck={false}
          autocomplete="off"
          onKeyDown={onKey}
          onScroll={(e) => {
            if (!back.current) return
            back.current.scrollTop = e.currentTarget.scrollTop
            back.current.scrollLeft = e.currentTarget.scrollLeft
          }}
          onInput={(e) => onChange(e.currentTarget.value)}
        />
      </div>
      {problems.length > 0 && (
        <ul class="problems">
          {problems.slice(0, 20).map((p) => (
            <li>
              <button type="button" class="link warn-text" onClick={() => show(p)}>
                {p.pointer || 'JSON'}
              </button>{' '}
              {p.text}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

/** Editor shows one of the two views. */
export function Editor({ draft, form, view, label, refs, complete, attempted }: {
  draft: Draft
  form: Form | undefined
  view: 'form' | 'json'
  label: string
  refs?: string
  complete?: FormState['complete']
  attempted?: Signal<boolean>
}) {
  const problems = draft.problems.value
  if (view === 'json' || !form) {
    return <CodeArea text={draft.text.value} onChange={(t) => draft.setText(t)} problems={problems} label={label} rows={Math.min(24, Math.max(6, draft.text.value.split('\n').length + 1))} />
  }
  if (draft.broken.value) {
    return <p class="warn-text">The JSON is not complete: fix it in the JSON view.</p>
  }
  const state: FormState = { value: draft.value, problems: draft.problems }
  if (refs) state.refs = refs
  if (complete) state.complete = complete
  if (attempted) state.attempted = attempted
  return <FormView form={form} state={state} />
}
