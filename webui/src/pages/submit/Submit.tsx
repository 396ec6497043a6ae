// A job is described as a form, as YAML and as a command, which are one draft; beside them, what it would come to.
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import { asApiError } from '../../api/error';
import type { Int } from '../../api/int';
import { jobPath } from '../../shell/links';
import { ActionDialog } from '../../ui/ActionDialog';
import { Said } from '../../ui/amounts';
import { Button } from '../../ui/Button';
import { ErrorNote } from '../../ui/ErrorNote';
import { Page } from '../../ui/Page';
import { EmptyState, Loading } from '../../ui/states-of-pages';
import { CommandLine } from './CommandLine';
import { faultOf, FIRST, secretLike, type Fault } from './draft';
import { Form, type Wrong } from './Form';
import { Plan } from './Plan';
import { newRequestId, planOf, submit, usePlan } from './queries';
import styles from './Submit.module.css';

// Neither the address nor the browser keeps the draft: it may say what is for nobody else's eyes.
export default function SubmitPage() {
  const { t } = useTranslation('submit');
  const [text, setText] = useState(FIRST);
  const [request, setRequest] = useState('');
  const fault = faultOf(text);
  const plan = usePlan(text, fault === null);
  const refused = plan.isError && fault === null ? asApiError(plan.error) : null;
  const wrong: Wrong | null = fault
    ? { field: fault.field, message: t(`faults.${fault.word}`), fix: t(`fixes.${fault.word}`) }
    : refused && { field: refused.field, message: refused.message, fix: refused.fix, isSaid: true };
  return (
    <Page
      title={t('title')}
      actions={
        <Button
          kind="main"
          disabled={fault !== null || !plan.isSuccess || plan.isPlaceholderData}
          onClick={() => setRequest(newRequestId())}
        >
          {t('submit')}
        </Button>
      }
    >
      <div className={styles.page}>
        <Form text={text} set={setText} wrong={wrong} />
        <section className={styles.plan} aria-label={t('plan.title')} aria-live="polite" aria-busy={plan.isFetching}>
          <h2>{t('plan.title')}</h2>
          <Beside fault={fault} plan={plan} />
        </section>
        <section className={styles.texts}>
          <Yaml text={text} set={setText} fault={fault} />
          <CommandLine text={text} set={setText} />
        </section>
      </div>
      {request && <Ask text={text} request={request} onClose={() => setRequest('')} />}
    </Page>
  );
}

function Beside({ fault, plan }: { fault: Fault | null; plan: ReturnType<typeof usePlan> }) {
  const { t } = useTranslation('submit');
  if (fault) {
    return (
      <EmptyState title={t('plan.notYet')}>
        {t(`faults.${fault.word}`)} <span lang="en">{fault.detail}</span>
      </EmptyState>
    );
  }
  const refused = plan.isError ? asApiError(plan.error) : null;
  if (refused?.isForbidden) {
    return (
      <EmptyState title={t('plan.refused')}>
        <Said text={`${refused.message}: ${refused.fix}`} />
      </EmptyState>
    );
  }
  if (plan.isError) return <ErrorNote error={plan.error} again={() => void plan.refetch()} />;
  if (!plan.data) return <Loading />;
  return <Plan jobs={plan.data.jobs} />;
}

function Yaml({ text, set, fault }: { text: string; set: (text: string) => void; fault: Fault | null }) {
  const { t } = useTranslation('submit');
  const secrets = secretLike(text);
  return (
    <div>
      <label className={styles.label} htmlFor="draft-yaml">
        {t('yaml')}
      </label>
      <textarea
        id="draft-yaml"
        className={styles.yaml}
        lang="en"
        spellCheck={false}
        autoComplete="off"
        value={text}
        rows={Math.min(22, Math.max(8, text.split('\n').length + 1))}
        aria-invalid={fault?.word === 'yaml'}
        onChange={(event) => set(event.target.value)}
      />
      {secrets.length > 0 && (
        <p role="note" className={styles.warning}>
          {t('secretInEnv')} <code>{secrets.join(', ')}</code>
        </p>
      )}
    </div>
  );
}

// The same request id, however often the button is pressed: a lost answer makes no second job.
function Ask({ text, request, onClose }: { text: string; request: string; onClose: () => void }) {
  const { t } = useTranslation('submit');
  const [, go] = useLocation();
  const send = async () => {
    const ids: Int[] = (await submit(text, request)).job_ids;
    go(ids.length === 1 && ids[0] !== undefined ? jobPath(ids[0]) : '/queue');
  };
  return (
    <ActionDialog
      title={t('submit')}
      verb={t('submitNow')}
      preview={() => planOf(text)}
      previewKey={['submit', text]}
      show={(plan) => <Plan jobs={plan.jobs} />}
      act={send}
      reason="none"
      command={`glim submit job.yaml --request-id ${request}`}
      onClose={onClose}
    />
  );
}
