// The address holds the state of the page, so that links, back and forward work.
import { computed, signal } from '@preact/signals'
import { boot } from './api'

export type Room = 'o' | 't' | 'r' | 'p' | 'a' | 'f' | 'h' | 'cmp'

export interface Place {
  room: Room
  /** What is chosen in the room: a tool, a URI, a template, a prompt. */
  name: string
  /** The name is a template. */
  template: boolean
  query: URLSearchParams
}

const rooms: Record<string, Room> = { o: 'o', t: 't', r: 'r', rt: 'r', p: 'p', a: 'a', f: 'f', h: 'h', cmp: 'cmp' }

function read(): Place {
  const path = location.pathname.slice(boot.base.length)
  const slash = path.indexOf('/')
  const head = slash < 0 ? path : path.slice(0, slash)
  let name = slash < 0 ? '' : path.slice(slash + 1)
  try {
    name = decodeURIComponent(name)
  } catch {
    // a stray % belongs to the name
  }
  return { room: rooms[head] ?? 'o', name, template: head === 'rt', query: new URLSearchParams(location.search) }
}

export const place = signal<Place>(read())
export const room = computed(() => place.value.room)

/** param returns a parameter of the address, or ''. */
export const param = (name: string): string => place.value.query.get(name) ?? ''

/** address returns the path of a place. Empty parameters are left out. */
export function address(head: string, name = '', query: Record<string, string | undefined> = {}): string {
  const params = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) if (value) params.set(key, value)
  const text = params.toString()
  return boot.base + head + (name ? '/' + encodeURIComponent(name) : '') + (text ? '?' + text : '')
}

/** go changes the address. */
export function go(to: string, replace = false): void {
  if (to === location.pathname + location.search) return
  if (replace) history.replaceState(null, '', to)
  else history.pushState(null, '', to)
  place.value = read()
}

/** setParams changes parameters of the present address without a step in the history. */
export function setParams(changes: Record<string, string | undefined>): void {
  const query = new URLSearchParams(location.search)
  for (const [key, value] of Object.entries(changes)) {
    if (value) query.set(key, value)
    else query.delete(key)
  }
  const text = query.toString()
  go(location.pathname + (text ? '?' + text : ''), true)
}

addEventListener('popstate', () => (place.value = read()))

// A click on a link inside the page changes the address without loading it again.
document.addEventListener('click', (event) => {
  const link = (event.target as Element).closest?.('a[href]')
  const plain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey
  if (!(link instanceof HTMLAnchorElement) || !plain || event.defaultPrevented) return
  if (link.target || link.download || link.origin !== location.origin || !link.dataset.in) return
  event.preventDefault()
  go(link.pathname + link.search)
})
