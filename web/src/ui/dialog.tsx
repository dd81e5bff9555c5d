// A modal dialog: it takes the focus, keeps it, and gives it back.
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

const stops = 'a[href],button:not([disabled]),input:not([disabled]),select,textarea,[tabindex="0"]'

/** Dialog draws its children above the page until onClose is called. */
export function Dialog({ title, titleHidden, onClose, children, extra = '' }: {
  title: string
  titleHidden?: boolean
  onClose: () => void
  children: ComponentChildren
  extra?: string
}) {
  const box = useRef<HTMLDivElement>(null)
  // At once: the next key belongs to the dialog, and after it to what had the focus before.
  useLayoutEffect(() => {
    const before = document.activeElement
    const first = box.current?.querySelector<HTMLElement>('[data-first]') ?? box.current?.querySelector<HTMLElement>(stops)
    first?.focus()
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'Escape') {
      event.preventDefault()
      event.stopPropagation()
      onClose()
    }
    if (event.key !== 'Tab') return
    const all = [...box.current!.querySelectorAll<HTMLElement>(stops)].filter((e) => e.tabIndex >= 0)
    const at = all.indexOf(document.activeElement as HTMLElement)
    const next = event.shiftKey ? at - 1 : at + 1
    if (next >= 0 && next < all.length) return
    event.preventDefault()
    all.at(event.shiftKey ? -1 : 0)?.focus()
  }
  return (
    <div class="backdrop" onClick={(e) => e.target === e.currentTarget && onClose()}>
      <div ref={box} class={`dialog ${extra}`} role="dialog" aria-modal="true" aria-label={title} onKeyDown={onKey}>
        {!titleHidden && <h2>{title}</h2>}
        {children}
      </div>
    </div>
  )
}
