// SPDX-License-Identifier: Apache-2.0
// What cannot be shown says so in its own place, until the link changes.
import { Component, type ComponentChildren } from 'preact';

interface Properties {
  place: string;
  children: ComponentChildren;
}
interface State {
  words: string | null;
  place: string;
}

export class Boundary extends Component<Properties, State> {
  override state: State = { words: null, place: this.props.place };

  static getDerivedStateFromProps(now: Properties, state: State): Partial<State> | null {
    return now.place === state.place ? null : { words: null, place: now.place };
  }

  override componentDidCatch(error: unknown) {
    this.setState({ words: error instanceof Error ? error.message : String(error) });
  }

  override render() {
    if (this.state.words === null) return this.props.children;
    return (
      <>
        <h1>This page cannot be shown</h1>
        <p>{this.state.words}</p>
        <p>
          The link may be damaged. <a href="#/">Overview</a>
        </p>
      </>
    );
  }
}
