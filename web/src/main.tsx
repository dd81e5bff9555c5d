// The page of slipway inspect.
import { render } from 'preact'
import './style.css'
import { Frame } from './frame'
import { startKeys } from './keys'
import { address } from './route'
import { loadMore } from './rooms'
import { start } from './store'
import './theme'

startKeys((room) => address(room))
void start()
// index.html has the empty frame. It is painted first, while the state is on its way: drawing takes as
// long as the answer. A page in the background paints nothing, so it does not wait.
const draw = (): void => {
  const app = document.getElementById('app') as HTMLElement
  app.replaceChildren()
  render(<Frame />, app)
}
if (document.hidden || performance.getEntriesByName('first-paint').length) draw()
else requestAnimationFrame(() => setTimeout(draw))
setTimeout(loadFonts, 100)
setTimeout(loadMore, 300)

// The first text in a font, and the first sign that it lacks, wait for another process of the browser: tens of
// milliseconds that the first change of the room would take longer.
function loadFonts(): void {
  const probe = document.createElement('span')
  probe.textContent = 'x…×▸◂▾▴✓✗⚠≈●'
  document.body.append(probe)
  for (const font of ['400 12px var(--sans)', '600 12px var(--sans)', '400 12px var(--mono)', '600 12px var(--mono)']) {
    probe.style.font = font
    probe.offsetWidth
  }
  probe.remove()
}
