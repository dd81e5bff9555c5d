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
// index.html has the empty frame, which is painted while this file is read.
const app = document.getElementById('app') as HTMLElement
app.replaceChildren()
render(<Frame />, app)
setTimeout(loadMore, 300)
