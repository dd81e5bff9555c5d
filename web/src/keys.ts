// The keyboard. A room names its keys while it is shown; the latest room that takes a key wins.
import { computed, signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { go } from './route'
import { layout } from './ui/kit'

/** A key handler returns false to leave the key to others. */
export type KeyMap = Record<string, (event: KeyboardEvent) => unknown>

const maps: { current: KeyMap }[] = []

/** useKeys handles keys while a component is shown: 'r', '/', '1', 'Escape', 'Mod+Enter', 'Shift+R'. */
export function useKeys(keys: KeyMap): void {
  const map = useRef(keys)
  map.current = keys
  useEffect(() => {
    maps.push(map)
    return () => {
      maps.splice(maps.indexOf(map), 1)
    }
  }, [])
}

/** helpOpen and paletteOpen show the two dialogs that belong to the keyboard. */
export const helpOpen = signal(false)
export const paletteOpen = signal(false)

/** typedAhead is what is typed after the palette was opened and before it is loaded and shown. */
export const typedAhead = { text: '', entered: false }

/** showPalette opens or closes the palette. */
export function showPalette(open: boolean): void {
  Object.assign(typedAhead, { text: '', entered: false })
  paletteOpen.value = open
}

/** typeAhead keeps a key for the palette. */
function typeAhead(event: KeyboardEvent): void {
  if (event.key === 'Enter') typedAhead.entered = true
  else if (event.key === 'Backspace') typedAhead.text = typedAhead.text.slice(0, -1)
  else if (event.key === 'Escape') paletteOpen.value = false
  else if (event.key.length > 1 || event.ctrlKey || event.metaKey) return
  else typedAhead.text += event.key
  event.preventDefault()
}

/** singleKeys reports whether letters are shortcuts; people who speak to their computer turn that off. */
export const singleKeys = computed(() => layout.value['keys'] !== 'off')

const roomKeys: Record<string, string> = { o: 'o', t: 't', r: 'r', p: 'p', a: 'a', f: 'f', h: 'h' }

/** visit goes to a room, at the place where it was left. */
export const visited = new Map<string, string>()

let pending = -Infinity // when g was pressed

const isField = (element: Element | null): boolean =>
  element instanceof HTMLElement &&
  (element.isContentEditable ||
    element instanceof HTMLTextAreaElement ||
    element instanceof HTMLSelectElement ||
    (element instanceof HTMLInputElement && !['checkbox', 'radio', 'button', 'file', 'range'].includes(element.type)))

function nameOf(event: KeyboardEvent): string {
  const key = event.key === ' ' ? 'Space' : event.key
  const mod = event.ctrlKey || event.metaKey ? 'Mod+' : ''
  const alt = event.altKey ? 'Alt+' : ''
  const shift = event.shiftKey && (key.length > 1 || mod) ? 'Shift+' : ''
  return mod + alt + shift + (key.length === 1 && mod ? key.toLowerCase() : key)
}

// regions are the parts of the window that F6 goes through.
function nextRegion(step: number): void {
  const regions = [...document.querySelectorAll<HTMLElement>('[data-region]')].filter((r) => r.offsetParent !== null)
  const at = regions.findIndex((r) => r.contains(document.activeElement))
  const next = regions[(at + step + regions.length) % regions.length]
  if (next) enter(next)
}

const stops = 'a[href],button:not([disabled]),input:not([disabled]),select,textarea,[tabindex="0"]'

// enter focuses the first useful element of a region.
function enter(region: HTMLElement): void {
  const wanted = region.querySelector<HTMLElement>('[data-first]') ?? region.querySelector<HTMLElement>(stops)
  wanted?.focus()
}

/** focusWork moves the focus from the list into the work area, and focusList back. */
export const focusWork = (): void => {
  // The work area of the chosen item is drawn first.
  requestAnimationFrame(() => {
    const work = document.querySelector<HTMLElement>('[data-region=work]')
    if (work) enter(work)
  })
}
export const focusList = (): void => document.querySelector<HTMLElement>('main [data-list]')?.focus()

const always: KeyMap = {
  'Mod+k': () => showPalette(!paletteOpen.value),
  F6: () => nextRegion(1),
  'Shift+F6': () => nextRegion(-1),
  '?': () => (helpOpen.value = true),
  '/': () => {
    const filter = document.querySelector<HTMLInputElement>('main [data-filter]')
    if (!filter) return false
    filter.focus()
    filter.select()
    return true
  },
  Escape: () => {
    const active = document.activeElement
    if (!(active instanceof HTMLElement) || active === document.body) return false
    active.blur()
    return true
  },
}

function run(name: string, event: KeyboardEvent): boolean {
  for (const map of [...maps.map((m) => m.current).reverse(), always]) {
    const handler = map[name]
    if (handler && handler(event) !== false) return true
  }
  return false
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return
  if (document.querySelector('[aria-modal=true]') && event.key !== 'F6') {
    if (nameOf(event) !== 'Mod+k') return
  } else if (paletteOpen.value && nameOf(event) !== 'Mod+k') {
    return typeAhead(event)
  }
  const name = nameOf(event)
  const isPlain = !/^(Mod|Alt)\+/.test(name) && name.replace('Shift+', '').length === 1
  if (isPlain) {
    if (isField(document.activeElement) || !singleKeys.value) return
    if (name === 'g') {
      pending = event.timeStamp
      return
    }
    const to = roomKeys[name]
    if (to && event.timeStamp - pending < 1200) {
      pending = -Infinity
      event.preventDefault()
      visit(to)
      return
    }
    if ((name === 'j' || name === 'k') && !(document.activeElement as HTMLElement | null)?.dataset.list) return moveList(event)
  }
  const inField = isField(document.activeElement)
  if (inField && ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Home', 'End', 'Enter'].includes(event.key) && !name.startsWith('Mod')) return
  if (run(name, event)) event.preventDefault()
}

// moveList gives j and k to the list, wherever the focus is.
function moveList(event: KeyboardEvent): void {
  const list = document.querySelector<HTMLElement>('main [data-list]')
  if (!list) return
  event.preventDefault()
  list.focus()
  list.dispatchEvent(new KeyboardEvent('keydown', { key: event.key, bubbles: true, cancelable: true }))
}

/** visit goes to a room, and there to what was shown last. */
export function visit(room: string): void {
  go(visited.get(room) ?? addressOf(room))
}

let addressOf = (room: string): string => room

/** startKeys listens to the keyboard. */
export function startKeys(address: (room: string) => string): void {
  addressOf = address
  document.addEventListener('keydown', onKey)
}
