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
render(<Frame />, document.getElementById('app') as HTMLElement)
void start()
setTimeout(loadMore, 300)
