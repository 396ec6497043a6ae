// How the scheduler decides: passes and what wakes them, how long jobs wait, whether what it promises is kept.
import { useTranslation } from 'react-i18next';
import type { Schemas } from '../../api/client';
import { useHasRole } from '../../api/session';
import { Count, Lasted, Said, Time } from '../../ui/amounts';
import { ErrorNote } from '../../ui/ErrorNote';
import { Command, Explained } from '../../ui/Explained';
import { Facts } from '../../ui/Facts';
import { formatNumber } from '../../ui/format';
import { Page } from '../../ui/Page';
import { Loading, SimulatedGpus } from '../../ui/states-of-pages';
import { useFreshReports } from '../usage/queries';
import { useSched, useStatus } from './queries';
import styles from './Scheduler.module.css';
import { Promises, WaitsByClass, WaitsBySize } from './Waits';

export default function SchedulerPage() {
  const { t } = useTranslation('scheduler');
  useFreshReports();
  const status = useStatus();
  const operates = useHasRole('operator');
  return (
    <Page title={t('title')}>
      {status.isPending && <Loading />}
      {status.isError && <ErrorNote error={status.error} again={() => void status.refetch()} />}
      {status.data && <Now status={status.data} />}
      {operates ? <Passes /> : <p className="weak">{t('operatorsSeeMore')}</p>}
      <Promises />
      <div className={styles.two}>
        <WaitsByClass />
        <WaitsBySize />
      </div>
    </Page>
  );
}

// Microseconds in the unit that suits them.
export function Micros({ us }: { us: Schemas['Timing']['last_us'] }) {
  const { language } = useTranslation().i18n;
  const value = Number(us);
  return value < 1_000 ? `${formatNumber(value, language)} µs` : `${formatNumber(value / 1_000, language, 1)} ms`;
}

function Now({ status }: { status: Schemas['GetSchedulerStatusResponse'] }) {
  const { t } = useTranslation('scheduler');
  const command = 'glim admin status';
  const told = (key: string, value: React.ReactNode): [string, React.ReactNode] => [
    t(`now.${key}`),
    <Explained key={key} words={t(`now.${key}Words`)} command={command}>
      {value}
    </Explained>,
  ];
  return (
    <section aria-label={t('now.title')}>
      {status.outage && (
        <p role="alert" className={styles.warning}>
          {t('outage')} <code>glim admin outage resolve</code>
        </p>
      )}
      {status.store_away_since_ms > 0 && (
        <p role="alert" className={styles.warning}>
          {t('storeAway')} <Time atMs={status.store_away_since_ms} />: <Said text={status.store_away_why} />
        </p>
      )}
      <Facts
        facts={[
          told('queued', <Count value={status.jobs_queued} />),
          told('live', <Count value={status.jobs_live} />),
          told('nodes', t('now.readyOf', { ready: status.nodes_ready, all: status.nodes })),
          told('pass', <Micros us={status.last_pass_us} />),
          told('revision', <Count value={status.revision} />),
          told('store', <Said text={status.store} />),
        ]}
      />
      {status.simulated_gpus && <SimulatedGpus />}
    </section>
  );
}

function Passes() {
  const { t } = useTranslation('scheduler');
  const asked = useSched();
  if (asked.isPending) return <Loading />;
  if (asked.isError) return <ErrorNote error={asked.error} again={() => void asked.refetch()} />;
  const sched = asked.data;
  const command = 'glim admin sched status';
  return (
    <section aria-label={t('passes.title')}>
      <h2>{t('passes.title')}</h2>
      <Facts
        facts={[
          [t('passes.leads'), <Lasted key="leads" fromMs={sched.leads_since_ms} />],
          [
            t('passes.starts'),
            <Explained key="starts" words={t('passes.startsWords')} command={command}>
              <Count value={sched.starts} />
            </Explained>,
          ],
          [t('passes.last'), <Time key="last" atMs={sched.last_pass_at_ms} />],
          [t('passes.wokenBy'), <Said key="woken" text={sched.last_pass_woken_by} />],
          [t('passes.inbox'), <Count key="inbox" value={sched.inbox} />],
          [
            t('passes.next'),
            sched.next_deadline ? (
              <span key="next">
                <Time atMs={sched.next_deadline_at_ms} />: <Said text={sched.next_deadline} />
              </span>
            ) : null,
          ],
        ]}
      />
      <div className={styles.two}>
        <Timings sched={sched} />
        <Wakes wakes={sched.wakes} />
      </div>
      <Command text={command} />
    </section>
  );
}

function Timings({ sched }: { sched: Schemas['GetSchedStatusResponse'] }) {
  const { t } = useTranslation('scheduler');
  const rows = [
    ['passes', sched.passes],
    ['commits', sched.commits],
  ] as const;
  return (
    <table className={styles.table}>
      <caption>{t('timing.title')}</caption>
      <thead>
        <tr>
          <th scope="col">{t('timing.what')}</th>
          {['count', 'last', 'p50', 'p99', 'max'].map((key) => (
            <th key={key} scope="col" className="number">
              {t(`timing.${key}`)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(
          ([key, timing]) =>
            timing && (
              <tr key={key}>
                <th scope="row">
                  <Explained words={t(`timing.${key}Words`)} command="glim admin sched status">
                    {t(`timing.${key}`)}
                  </Explained>
                </th>
                <td>
                  <Count value={timing.count} />
                </td>
                {([timing.last_us, timing.p50_us, timing.p99_us, timing.max_us] as const).map((us, at) => (
                  <td key={at}>
                    <Micros us={us} />
                  </td>
                ))}
              </tr>
            ),
        )}
      </tbody>
    </table>
  );
}

function Wakes({ wakes }: { wakes: Schemas['Wakes'][] }) {
  const { t } = useTranslation('scheduler');
  const max = Math.max(1, ...wakes.map((one) => Number(one.count)));
  return (
    <table className={styles.table}>
      <caption>{t('wakes.title')}</caption>
      <tbody>
        {wakes.map((one) => (
          <tr key={one.by}>
            <th scope="row">
              <Said text={one.by} />
            </th>
            <td className={styles.barCell}>
              <span
                className={styles.bar}
                aria-hidden="true"
                style={{ width: `${(Number(one.count) / max) * 100}%` }}
              />
            </td>
            <td>
              <Count value={one.count} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
