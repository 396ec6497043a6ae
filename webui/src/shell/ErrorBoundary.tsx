import { Component, type ReactNode } from 'react';
import { Button } from '../ui/Button';
import { ErrorNote } from '../ui/ErrorNote';
import i18n from 'i18next';

// A page that throws leaves the others alone.
export class ErrorBoundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state = { error: null as unknown };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    return (
      <>
        <ErrorNote error={this.state.error} />
        <Button onClick={() => this.setState({ error: null })}>{i18n.t('common:tryAgain')}</Button>
      </>
    );
  }
}
