// A clock for what is running. It ticks only while something runs or connects.
import { effect, signal } from '@preact/signals'
import { link, running, sources } from '../store'

export const now = signal(Date.now())

effect(() => {
  const busy =
    running.value.length > 0 ||
    link.value === 'lost' ||
    sources.value.some((s) => s.phase === 'connecting' || s.phase === 'waiting')
  if (!busy) return undefined
  now.value = Date.now()
  const timer = setInterval(() => (now.value = Date.now()), 100)
  return () => clearInterval(timer)
})
