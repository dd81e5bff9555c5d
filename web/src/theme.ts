// The theme: that of the system, or light or dark.
import { effect } from '@preact/signals'
import { layout, setLayout } from './ui/kit'

export type Theme = 'system' | 'light' | 'dark'

export const themeOf = (): Theme => {
  const theme = layout.value['theme']
  return theme === 'light' || theme === 'dark' ? theme : 'system'
}

export const setTheme = (theme: Theme): void => setLayout('theme', theme)

/** nextTheme goes on to the next of the three. */
export const nextTheme = (): void => {
  const order: Theme[] = ['system', 'light', 'dark']
  setTheme(order[(order.indexOf(themeOf()) + 1) % 3]!)
}

effect(() => {
  const theme = themeOf()
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
})
