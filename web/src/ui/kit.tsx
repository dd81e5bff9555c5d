// Small parts that every room uses.
import { signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { say } from '../store'
import type { Failure } from '../types'

// Icons on a grid of 16: only lines, in the colour of the text.
const paths = {
  overview: 'M2 9.5h3l1.5-5 3 8 1.5-3h3',
  tools: 'M9.6 6.4 3 13M13.5 5.5A3.2 3.2 0 0 1 9.2 2.6l1.9 1.9 1.9-1.9a3.2 3.2 0 0 1-3.4 4',
  resources: 'M4 1.8h5.2L12.5 5v9.2H4zM9 2v3.2h3.3M6 8.2h4.5M6 11h4.5',
  prompts: 'M2.2 3h11.6v8H7.4L4.4 13.6V11H2.2zM5 6h6M5 8.4h3.6',
  apps: 'M2.2 3.2h11.6v9.6H2.2zM2.2 6h11.6M4.2 4.6h.1M6 4.6h.1',
  traffic: 'M2.5 5.2h9.5M9.4 2.6 12 5.2 9.4 7.8M13.5 11H4M6.6 8.4 4 11l2.6 2.6',
  history: 'M2.6 5.2A6 6 0 1 1 2 8.4M2.4 2.4v3h3M8 4.8V8.2l2.4 1.4',
  search: 'M7 2.4a4.6 4.6 0 1 0 0 9.2 4.6 4.6 0 0 0 0-9.2M10.4 10.4 14 14',
  theme: 'M8 1.8a6.2 6.2 0 1 0 0 12.4zM8 1.8a6.2 6.2 0 0 1 0 12.4',
  sun: 'M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6M8 1.4v1.4M8 13.2v1.4M1.4 8h1.4M13.2 8h1.4M3.3 3.3l1 1M11.7 11.7l1 1M12.7 3.3l-1 1M4.3 11.7l-1 1',
  moon: 'M13.4 9.8A5.8 5.8 0 0 1 6.2 2.6a5.8 5.8 0 1 0 7.2 7.2',
  copy: 'M5.4 5.4h8v8h-8zM10.6 5.2V2.6h-8v8h2.6',
  star: 'm8 1.9 1.9 3.9 4.2.6-3 3 .7 4.2L8 11.6l-3.8 2 .7-4.2-3-3 4.2-.6z',
  close: 'm4 4 8 8M12 4l-8 8',
  chevron: 'm6 3.6 4.4 4.4L6 12.4',
  help: 'M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8M6.2 6.2A1.9 1.9 0 1 1 8.6 8c-.5.2-.6.5-.6 1.2M8 11.4v.2',
} as const

export type IconName = keyof typeof paths

export const Icon = ({ name }: { name: IconName }) => (
  <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
    <path d={paths[name]} />
  </svg>
)

export const Key = ({ of }: { of: string }) => (
  <kbd aria-hidden="true">{of.replace('Mod', isMac ? '⌘' : 'Ctrl').replace('Enter', '↵')}</kbd>
)

export const isMac = /Mac|iPhone|iPad/.test(navigator.platform)

/** copy puts a text on the clipboard, and says so. */
export async function copy(text: string, what = 'Copied'): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    say(what)
  } catch {
    say('The browser refused to copy')
  }
}

export function CopyButton({ text, label = 'Copy', quiet }: { text: string | (() => string); label?: string; quiet?: boolean }) {
  const done = useSignal(false)
  return (
    <button
      type="button"
      class={quiet ? 'quiet small' : 'small'}
      onClick={() => {
        void copy(typeof text === 'string' ? text : text(), `${label}: done`)
        done.value = true
        setTimeout(() => (done.value = false), 1200)
      }}
    >
      <Icon name="copy" /> {done.value ? 'Copied' : label}
    </button>
  )
}

/** Problem shows an error: what failed, what to do, and what the server said. */
export function Problem({ of, children }: { of: Failure; children?: ComponentChildren }) {
  return (
    <div class="problem" role="group" aria-label="Error">
      <p class="problem-text">
        <span aria-hidden="true">✗</span> {of.text}
      </p>
      {of.hint && <p class="problem-hint">{of.hint}</p>}
      {(of.rpc !== undefined || of.status || of.challenge) && (
        <dl class="facts compact">
          {of.rpc !== undefined && <Fact name="JSON-RPC code">{`${of.rpc}${rpcName(of.rpc)}`}</Fact>}
          {of.status ? <Fact name="HTTP status">{String(of.status)}</Fact> : null}
          {of.challenge && <Fact name="WWW-Authenticate">{of.challenge}</Fact>}
          {of.login && <Fact name="Authorization server">{of.login.issuer || of.login.error}</Fact>}
          {of.login?.scopes && <Fact name="Scopes">{of.login.scopes.join(' ')}</Fact>}
          {of.login?.issuer && <Fact name="New clients">{of.login.registers ? 'are registered' : 'need an ID from there'}</Fact>}
        </dl>
      )}
      {of.data !== undefined && <pre class="snippet">{JSON.stringify(of.data, null, 2).slice(0, 4000)}</pre>}
      {of.body && <pre class="snippet">{of.body.slice(0, 2000)}</pre>}
      {of.command && <Command text={of.command} />}
      {children}
    </div>
  )
}

const codes: Record<number, string> = {
  [-32700]: 'parse error',
  [-32600]: 'invalid request',
  [-32601]: 'the server has no such method',
  [-32602]: 'invalid parameters',
  [-32603]: 'internal error of the server',
  [-32002]: 'resource not found',
  [-32042]: 'the server wants a URL to be opened first',
}

export const rpcName = (code: number): string => (codes[code] ? `, ${codes[code]}` : '')

export const Command = ({ text, does }: { text: string; does?: string }) => (
  <div class="command">
    <code tabIndex={0}>{text}</code>
    <CopyButton text={text} quiet />
    {does && <span class="muted">{does}</span>}
  </div>
)

/** Card is a titled part of Overview. */
export const Card = ({ title, extra, children, wide }: { title: string; extra?: ComponentChildren; children: ComponentChildren; wide?: boolean }) => (
  <section class={wide ? 'card wide' : 'card'} aria-label={title} tabIndex={-1}>
    <header>
      <h3>{title}</h3>
      {extra}
    </header>
    {children}
  </section>
)

export const Fact = ({ name, children }: { name: string; children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)

export const Badge = ({ tone, title, children }: { tone?: string; title?: string; children: ComponentChildren }) => (
  <span class={tone ? `badge ${tone}` : 'badge'} title={title}>
    {children}
  </span>
)

export const toneOfSeverity = (severity: string): string => (severity === 'error' ? 'error' : severity === 'warning' ? 'warn' : '')

export interface Tab {
  id: string
  label: ComponentChildren
  hidden?: boolean
}

/** Tabs are the tabs of a panel. Arrow keys change them. */
export function Tabs({ tabs, value, onChange, label, panel }: {
  tabs: Tab[]
  value: string
  onChange: (id: string) => void
  label: string
  panel: string
}) {
  const list = tabs.filter((t) => !t.hidden)
  const move = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (!step) return
    event.preventDefault()
    event.stopPropagation()
    const next = list[(list.findIndex((t) => t.id === value) + step + list.length) % list.length]!
    onChange(next.id)
    const tabs = (event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('[role=tab]')
    tabs[list.indexOf(next)]?.focus()
  }
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {list.map((t) => (
        <button
          type="button"
          role="tab"
          key={t.id}
          id={`${panel}-${t.id}`}
          aria-selected={t.id === value}
          aria-controls={t.id === value ? panel : undefined}
          tabIndex={t.id === value ? 0 : -1}
          onClick={() => onChange(t.id)}
        >
          {t.label}
        </button>
      ))}
    </div>
  )
}

/** Menu is a button with actions below it. */
export function Menu({ label, items, name, up }: {
  label: ComponentChildren
  name?: string
  /** Opens above the button. */
  up?: boolean
  items: { label: string; run: () => void; hint?: string }[]
}) {
  const open = useSignal(false)
  const root = useRef<HTMLDivElement>(null)
  // At once: the next key is for the menu, even if it comes before the menu is painted.
  useLayoutEffect(() => {
    if (!open.value) return
    root.current?.querySelector<HTMLElement>('[role=menuitem]')?.focus()
    const close = (event: Event) => {
      if (!root.current?.contains(event.target as globalThis.Node)) open.value = false
    }
    addEventListener('pointerdown', close)
    addEventListener('focusin', close)
    return () => {
      removeEventListener('pointerdown', close)
      removeEventListener('focusin', close)
    }
  }, [open.value])
  const onKey = (event: KeyboardEvent) => {
    if (!open.value) return
    const entries = [...root.current!.querySelectorAll<HTMLElement>('[role=menuitem]')]
    const at = entries.indexOf(document.activeElement as HTMLElement)
    const to: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: entries.length - 1 }
    if (event.key === 'Escape') {
      open.value = false
      root.current?.querySelector('button')?.focus()
    } else if (event.key in to) entries[(to[event.key]! + entries.length) % entries.length]?.focus()
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <div class="menu" ref={root} onKeyDown={onKey}>
      <button
        type="button"
        class="small"
        aria-haspopup="menu"
        aria-expanded={open.value}
        aria-label={name}
        data-menu={name}
        onClick={() => (open.value = !open.value)}
      >
        {label} <span aria-hidden="true">▾</span>
      </button>
      {open.value && (
        <div class={up ? 'menu-list up' : 'menu-list'} role="menu" aria-label={name ?? 'Actions'}>
          {items.map((item) => (
            <button
              type="button"
              role="menuitem"
              key={item.label}
              title={item.hint}
              onClick={() => {
                open.value = false
                root.current?.querySelector('button')?.focus()
                item.run()
              }}
            >
              {item.label}
            </button>
          ))}
        </div>
      )}
    </div>
  )
}

/** layout is what localStorage keeps: sizes and the theme, nothing else. */
export const layout = signal<Record<string, string>>(readLayout())

function readLayout(): Record<string, string> {
  try {
    return JSON.parse(localStorage.getItem('slipway-inspect') ?? '{}') as Record<string, string>
  } catch {
    return {}
  }
}

export function setLayout(name: string, value: string): void {
  layout.value = { ...layout.value, [name]: value }
  try {
    localStorage.setItem('slipway-inspect', JSON.stringify(layout.value))
  } catch {
    // the browser keeps nothing; the layout lasts as long as the page
  }
}

/** Splitter changes the size of the part before it. */
export function Splitter({ name, vertical, initial, min, max }: {
  name: string
  vertical?: boolean
  initial: number
  min: number
  max: number
}) {
  const size = Number(layout.value[name] ?? initial)
  const apply = (value: number) => setLayout(name, String(Math.round(Math.min(max, Math.max(min, value)))))
  const drag = (event: PointerEvent) => {
    const bar = event.currentTarget as HTMLElement
    bar.setPointerCapture(event.pointerId)
    const start = vertical ? event.clientX : event.clientY
    const before = bar.previousElementSibling as HTMLElement
    const from = vertical ? before.offsetWidth : before.offsetHeight
    const move = (e: PointerEvent) => apply(from + (vertical ? e.clientX : e.clientY) - start)
    bar.addEventListener('pointermove', move)
    bar.addEventListener('lostpointercapture', () => bar.removeEventListener('pointermove', move), { once: true })
  }
  const key = (event: KeyboardEvent) => {
    const more = vertical ? 'ArrowRight' : 'ArrowDown'
    const less = vertical ? 'ArrowLeft' : 'ArrowUp'
    if (event.key !== more && event.key !== less) return
    event.preventDefault()
    event.stopPropagation()
    apply(size + (event.key === more ? 16 : -16))
  }
  return (
    <div
      class={vertical ? 'splitter vertical' : 'splitter'}
      role="separator"
      aria-orientation={vertical ? 'vertical' : 'horizontal'}
      aria-label={`Size of ${name}`}
      aria-valuenow={size}
      aria-valuemin={min}
      aria-valuemax={max}
      tabIndex={0}
      onPointerDown={drag}
      onKeyDown={key}
    />
  )
}

export const sizeOf = (name: string, initial: number): string => `${Number(layout.value[name] ?? initial)}px`
