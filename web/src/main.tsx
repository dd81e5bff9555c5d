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
setTimeout(loadMore, 300)
