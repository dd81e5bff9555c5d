// The palette: go to anything by typing parts of its name.
import { useComputed, useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { download } from '../api'
import { helpOpen, paletteOpen, typedAhead, visited } from '../keys'
import { rooms } from '../rooms'
import { address, go } from '../route'
import { catalogs, say, sources } from '../store'
import { setTheme } from '../theme'
import { Dialog } from './dialog'
import { VirtualList } from './list'

interface Entry {
  kind: string
  name: string
  detail?: string
  text: string
  run: () => void
}

const entry = (kind: string, name: string, run: () => void, detail = ''): Entry => ({
  kind, name, run, detail, text: `${name} ${detail}`.toLowerCase(),
})

// commands are what the palette can do besides going somewhere.
const commands = (): Entry[] => [
  entry('command', 'Theme: light', () => setTheme('light')),
  entry('command', 'Theme: dark', () => setTheme('dark')),
  entry('command', 'Theme: system', () => setTheme('system')),
  entry('command', 'Keyboard shortcuts', () => (helpOpen.value = true)),
  entry('command', 'Download the recording', () => {
    download('record', 'session.mcplog').catch(() => say('The recording could not be downloaded'))
  }, 'everything on this page as .mcplog'),
]

function entries(): Entry[] {
  const out: Entry[] = rooms.map((r) => entry('room', r.label, () => go(visited.get(r.id) ?? address(r.id)), `g ${r.id}`))
  const several = sources.value.length > 1
  for (const s of sources.value) {
    if (several) out.push(entry('source', s.name, () => go(address('o', '', { s: s.name })), s.label))
    const catalog = catalogs.value.get(s.id)
    if (!catalog) continue
    const at = several ? { s: s.name } : {}
    const where = several ? `@${s.name} ` : ''
    for (const t of catalog.tools) out.push(entry('tool', t.name, () => go(address('t', t.name, at)), where + (t.title ?? t.description ?? '').slice(0, 120)))
    for (const r of catalog.resources) out.push(entry('resource', r.name || r.uri, () => go(address('r', r.uri, at)), where + r.uri))
    for (const t of catalog.templates) out.push(entry('template', t.name || t.template, () => go(address('rt', t.template, at)), where + t.template))
    for (const p of catalog.prompts) out.push(entry('prompt', p.name, () => go(address('p', p.name, at)), where + (p.title ?? p.description ?? '').slice(0, 120)))
    for (const t of catalog.tools) if (t.ui?.resourceUri) out.push(entry('app', t.name, () => go(address('a', t.name, at)), where + t.ui.resourceUri))
  }
  return [...out, ...commands()]
}

// score rates a match: the start of the name, the start of a word, inside, and scattered letters.
function score(e: Entry, words: string[]): number {
  const name = e.name.toLowerCase()
  let points = 0
  for (const word of words) {
    const at = name.indexOf(word)
    if (at === 0) points += 100 - Math.min(40, name.length - word.length)
    else if (at > 0) points += /[a-z0-9]/.test(name[at - 1]!) ? 40 : 60
    else if (e.text.includes(word)) points += 20
    else if (scattered(name, word)) points += 8
    else return 0
  }
  return points
}

function scattered(name: string, word: string): boolean {
  let at = -1
  for (const letter of word) {
    at = name.indexOf(letter, at + 1)
    if (at < 0) return false
  }
  return true
}

export function Palette() {
  const query = useSignal(typedAhead.text)
  const selected = useSignal(0)
  const input = useRef<HTMLInputElement>(null)
  const all = useComputed(entries)
  const found = useComputed(() => {
    const text = query.value.trim().toLowerCase()
    const frame = /^#(\d+)$/.exec(text)
    if (frame) return [entry('frame', `Frame ${frame[1]}`, () => go(address('f', '', { at: frame[1] })))]
    if (!text) return all.value.slice(0, 200)
    const words = text.split(/\s+/)
    const list = all.value.map((e) => ({ e, points: score(e, words) })).filter((m) => m.points > 0)
    list.sort((a, b) => b.points - a.points)
    const out = list.slice(0, 500).map((m) => m.e)
    out.push(entry('frames', `Search the traffic for “${query.value.trim()}”`, () => go(address('f', '', { q: query.value.trim() }))))
    return out
  })
  // Before the next key, which belongs to the field.
  useLayoutEffect(() => input.current?.focus(), [])
  useEffect(() => {
    if (typedAhead.entered) choose(0)
  }, [])
  const close = () => (paletteOpen.value = false)
  const choose = (i: number) => {
    const chosen = found.value[i]
    close()
    chosen?.run()
    if (chosen && ['tool', 'resource', 'template', 'prompt', 'app'].includes(chosen.kind)) {
      requestAnimationFrame(() => requestAnimationFrame(() => document.querySelector<HTMLElement>('[data-region=work] [data-first]')?.focus()))
    }
  }
  const onKey = (event: KeyboardEvent) => {
    const last = found.value.length - 1
    const to: Record<string, number> = {
      ArrowDown: selected.value >= last ? 0 : selected.value + 1,
      ArrowUp: selected.value <= 0 ? last : selected.value - 1,
      PageDown: Math.min(last, selected.value + 8),
      PageUp: Math.max(0, selected.value - 8),
    }
    if (event.key in to) selected.value = to[event.key]!
    else if (event.key === 'Enter') choose(selected.value)
    else return
    event.preventDefault()
  }
  const rowsShown = Math.min(found.value.length, 10)
  return (
    <Dialog title="Go to" titleHidden onClose={close} extra="palette">
      <input
        ref={input}
        data-first
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found.value.length ? `palette-${selected.value}` : undefined}
        aria-label="Go to"
        placeholder="Tool, resource, prompt, #frame, command…"
        autocomplete="off"
        spellcheck={false}
        value={query.value}
        onInput={(e) => {
          query.value = e.currentTarget.value
          selected.value = 0
        }}
        onKeyDown={onKey}
      />
      <div class="palette-list" style={{ height: `${Math.max(1, rowsShown) * 32}px` }}>
        <VirtualList
          id="palette"
          label="Matches"
          count={found.value.length}
          height={32}
          selected={selected.value}
          onSelect={choose}
          tabIndex={-1}
          row={(i) => {
            const e = found.value[i]
            return e ? (
              <>
                <span class="palette-kind">{e.kind}</span>
                <span class="palette-name">{e.name}</span>
                <span class="palette-detail">{e.detail}</span>
              </>
            ) : null
          }}
        />
      </div>
    </Dialog>
  )
}
