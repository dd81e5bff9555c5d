// Filled in soon.
export const Apps = () => <section class="room"><h2>Apps</h2></section>
