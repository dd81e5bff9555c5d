// The list of a room: what the shown sources offer, filtered, with what changed in it.
import { type ReadonlySignal, type Signal, useComputed, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { count, plural } from '../format'
import { focusWork } from '../keys'
import { catalogs, diffs, shown, sources } from '../store'
import type { ListDiff } from '../types'
import { Changes } from './changes'
import { Icon, Splitter, sizeOf } from './kit'
import { VirtualList } from './list'

/** Item is a row: something a source offers, or a heading. */
export interface Item {
  src: number
  /** Unique in its list: the name, URI or template. */
  id: string
  name: string
  /** The text that the filter searches, in lower case. */
  text: string
  /** What the filter calls it: ro, dest, ui, app, bad. */
  flags: string
  tokens?: number
  badges?: ComponentChildren
  heading?: string
}

type Kind = 'tools' | 'resources' | 'templates' | 'prompts'

/** matches reports whether an item has all words: text, flag: and @source; - negates. */
export function matches(item: Item, words: string[], names: ReadonlyMap<number, string>): boolean {
  for (const raw of words) {
    const no = raw.startsWith('-') && raw.length > 1
    const word = no ? raw.slice(1) : raw
    const found = word.startsWith('@')
      ? (names.get(item.src) ?? '').startsWith(word.slice(1))
      : word.endsWith(':')
        ? item.flags.includes(word)
        : item.text.includes(word)
    if (found === no) return false
  }
  return true
}

export interface EntriesProps {
  id: string
  kinds: Kind[]
  /** One of them: tool, resource, prompt. */
  noun: string
  items: ReadonlySignal<Item[]>
  filter: Signal<string>
  placeholder: string
  selected: (item: Item) => boolean
  onSelect: (item: Item) => void
}

export function Entries(props: EntriesProps) {
  const { items, filter, noun } = props
  const showsChanges = useSignal(false)
  const rows = useComputed(() => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean)
    if (!words.length) return items.value
    const names = new Map(sources.value.map((s) => [s.id, s.name.toLowerCase()]))
    const found = items.value.filter((i) => i.heading !== undefined || matches(i, words, names))
    return found.filter((i, at) => i.heading === undefined || (found[at + 1] !== undefined && found[at + 1]!.heading === undefined))
  })
  const total = useComputed(() => items.value.reduce((n, i) => n + (i.heading === undefined ? 1 : 0), 0))
  const found = useComputed(() => rows.value.reduce((n, i) => n + (i.heading === undefined ? 1 : 0), 0))
  const cost = useComputed(() => items.value.reduce((n, i) => n + (i.tokens ?? 0), 0))
  const several = sources.value.length > 1
  const names = new Map(sources.value.map((s) => [s.id, s.name]))
  const list = rows.value
  const at = list.findIndex((i) => i.heading === undefined && props.selected(i))
  const select = (index: number) => {
    let to = index
    const step = index < at ? -1 : 1
    while (list[to]?.heading !== undefined) to += step
    const item = list[to]
    if (item) props.onSelect(item)
  }
  const changes = diffs.value.filter((d) => shown.value.some((s) => s.id === d.src) && props.kinds.some((k) => d[k]))
  const sum = (of: keyof ListDiff) => changes.reduce((n, d) => props.kinds.reduce((m, k) => m + (d[k]?.[of]?.length ?? 0), n), 0)
  return (
    <>
      <div class="list-pane" style={{ width: sizeOf('list', 340), '--rows': `${list.length * 30 + 72}px` }} data-region="list">
        <div class="list-head">
          <input
            type="search"
            data-filter
            placeholder={props.placeholder}
            aria-label={`Filter ${noun}s`}
            title="Words, -word, and @source"
            autocomplete="off"
            spellcheck={false}
            value={filter.value}
            onInput={(e) => (filter.value = e.currentTarget.value)}
            onKeyDown={(e) => {
              if (e.key === 'ArrowDown' || e.key === 'Enter') {
                e.preventDefault()
                if (at < 0) select(0)
                e.currentTarget.closest('.list-pane')?.querySelector<HTMLElement>('[data-list]')?.focus()
              } else if (e.key === 'Escape' && filter.value) {
                e.stopPropagation()
                e.preventDefault()
                filter.value = ''
              }
            }}
          />
        </div>
        <VirtualList
          id={props.id}
          label={`${noun}s`}
          count={list.length}
          height={list.length > 200 ? 24 : 30}
          selected={at}
          onSelect={select}
          onOpen={focusWork}
          rowClass={(i) => (list[i]?.heading !== undefined ? 'heading' : '')}
          empty={<Empty {...props} total={total.value} />}
          row={(i) => {
            const item = list[i]
            if (!item) return null
            if (item.heading !== undefined) return <span>{item.heading}</span>
            return (
              <>
                <span class="row-name">{item.name}</span>
                <span class="row-badges">{item.badges}</span>
                {several && <span class="badge">{names.get(item.src)}</span>}
                {item.tokens !== undefined && (
                  <span class="row-cost" title="Estimated tokens of its definition">
                    {count(item.tokens)}
                  </span>
                )}
              </>
            )
          }}
        />
        {showsChanges.value && changes.length > 0 && <Changes list={changes} kinds={props.kinds} />}
        <div class="list-foot">
          <span>
            {found.value === total.value ? plural(total.value, noun) : `${count(found.value)} of ${plural(total.value, noun)}`}
          </span>
          {cost.value > 0 && <span title="Estimated tokens of all definitions, in every conversation">≈ {count(cost.value)} tokens</span>}
          <span class="spacer" />
          {changes.length > 0 && (
            <button type="button" class="link" aria-expanded={showsChanges.value} onClick={() => (showsChanges.value = !showsChanges.value)}>
              {sum('added') > 0 && `+${sum('added')} `}
              {sum('removed') > 0 && `−${sum('removed')} `}
              {sum('changed') > 0 && `~${sum('changed')} `}
              changed
            </button>
          )}
        </div>
      </div>
      <Splitter name="list" vertical initial={340} min={200} max={720} />
    </>
  )
}

// Empty says why a list is empty: a filter, a server that offers nothing, or no server yet.
function Empty({ noun, kinds, filter, total }: EntriesProps & { total: number }) {
  if (total > 0 && filter.value) {
    return (
      <div class="list-nothing">
        <p>
          No {noun} matches “{filter.value.slice(0, 80)}”. {count(total)} hidden.
        </p>
        <button type="button" class="small" onClick={() => (filter.value = '')}>
          Clear the filter
        </button>
      </div>
    )
  }
  if (!shown.value.length) return <p>All sources are switched off in the bar.</p>
  const waiting = shown.value.filter((s) => !catalogs.value.has(s.id))
  if (waiting.length) {
    return (
      <p>
        {waiting.map((s) => s.name).join(', ')}: {waiting[0]!.phase === 'connecting' ? 'connecting…' : waiting[0]!.phase}
        {waiting[0]!.phase !== 'connecting' && '. Overview says why.'}
      </p>
    )
  }
  return (
    <p>
      {shown.value.length === 1 ? 'This server offers' : 'These servers offer'} no {noun === 'app' ? 'apps' : kinds[0]}.
    </p>
  )
}

/** Nothing fills the work area when there is nothing to choose: it shows what the servers declared. */
export function Nothing({ noun, kind, items, children }: { noun: string; kind: string; items: Item[]; children?: ComponentChildren }) {
  const ready = shown.value.filter((s) => s.capabilities)
  if (items.length) {
    return (
      <div class="work" data-region="work">
        <div class="empty">
          <h2>Choose {noun === 'app' ? 'an' : 'a'} {noun}</h2>
          <p>
            <kbd>/</kbd> filters, <kbd>j</kbd> and <kbd>k</kbd> move, <kbd>↵</kbd> opens.
          </p>
          {children}
        </div>
      </div>
    )
  }
  return (
    <div class="work" data-region="work">
      <div class="empty">
        <Icon name="overview" />
        {ready.length ? (
          <>
            <h2>
              {ready.length === 1 ? `${ready[0]!.name} offers` : 'These servers offer'} no {noun}s
            </h2>
            {ready.slice(0, 4).map((s) => (
              <p>
                {noun === 'app' && catalogs.value.get(s.id)?.tools.length
                  ? `None of the tools of ${s.name} has a user interface (_meta.ui.resourceUri).`
                  : s.capabilities![kind]
                    ? `${s.name} declares the capability “${kind}”, but its list is empty.`
                    : `${s.name} does not declare the capability “${kind}”. It declares:`}
                {!s.capabilities![kind] && <code> {JSON.stringify(s.capabilities).slice(0, 400)}</code>}
              </p>
            ))}
          </>
        ) : (
          <>
            <h2>Not connected yet</h2>
            <p>The overview shows each step of connecting.</p>
          </>
        )}
      </div>
    </div>
  )
}
