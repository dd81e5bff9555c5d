// The rooms of the page, in the order of the rail.
import { signal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { Overview } from './rooms/overview'
import { Tools } from './rooms/tools'
import type { Room } from './route'
import { frames, framesVersion, gone, shown } from './store'
import type { IconName } from './ui/kit'

// The other rooms come in a second file, which is loaded once the first room is drawn.
const more = signal<Record<string, ComponentType> | undefined>(undefined)
let asked = false

/** loadMore loads the second file. */
export function loadMore(): void {
  if (asked) return
  asked = true
  void import('./more').then((rooms) => (more.value = { ...rooms }), () => (asked = false))
}

/** later returns a part of the second file, which is loaded when it is drawn first. */
export const later = (name: string): ComponentType =>
  function Later() {
    loadMore()
    const View = more.value?.[name]
    return View ? <View /> : <section class="room" aria-busy="true" />
  }

const Apps = later('Apps')
const Compare = later('Compare')
const History = later('History')
const Prompts = later('Prompts')
const Resources = later('Resources')
const Traffic = later('Traffic')

export interface RoomEntry {
  id: Room
  label: string
  icon: IconName
  view: ComponentType
  /** The number beside the name, or undefined while it is not known. */
  count?: () => number | undefined
}

type Kind = 'tools' | 'resources' | 'templates' | 'prompts' | 'apps'

// sum adds up what the shown sources offer.
function sum(...kinds: Kind[]): number | undefined {
  let total: number | undefined
  for (const { counts } of shown.value) {
    if (counts) total = kinds.reduce((n, kind) => n + (counts[kind] ?? 0), total ?? 0)
  }
  return total
}

export const rooms: RoomEntry[] = [
  { id: 'o', label: 'Overview', icon: 'overview', view: Overview },
  { id: 't', label: 'Tools', icon: 'tools', view: Tools, count: () => sum('tools') },
  { id: 'r', label: 'Resources', icon: 'resources', view: Resources, count: () => sum('resources', 'templates') },
  { id: 'p', label: 'Prompts', icon: 'prompts', view: Prompts, count: () => sum('prompts') },
  { id: 'a', label: 'Apps', icon: 'apps', view: Apps, count: () => sum('apps') },
  {
    id: 'f',
    label: 'Traffic',
    icon: 'traffic',
    view: Traffic,
    count: () => {
      framesVersion.value
      return gone.value + frames.length
    },
  },
  { id: 'h', label: 'History', icon: 'history', view: History },
]

/** viewOf returns the room of a place. Compare is a room without a place in the rail. */
export const viewOf = (room: Room): ComponentType => (room === 'cmp' ? Compare : rooms.find((r) => r.id === room)!.view)
