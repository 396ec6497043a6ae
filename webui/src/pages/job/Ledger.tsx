// Where the job's GPU-time went: one bar, and each amount with what it means.
import { useTranslation } from 'react-i18next';
import type { JobDetail } from '../../live/types';
import { num } from '../../api/int';
import { GpuHours } from '../../ui/amounts';
import { StateShape } from '../../ui/Badge';
import { Explained } from '../../ui/Explained';
import { formatPercent } from '../../ui/format';
import { LOOKS } from '../../ui/states';
import styles from './Job.module.css';

const USES = ['productive', 'restoring', 'starting', 'stopping', 'lost', 'claimed', 'unavailable'] as const;

export function Ledger({ job }: { job: JobDetail }) {
  const { t, i18n } = useTranslation('job');
  const amounts = USES.map((use) => ({ use, ms: num(job.uses?.[`${use}_gpu_ms`] ?? 0) }));
  const sum = amounts.reduce((all, { ms }) => all + ms, 0);
  const command = `glim admin report --by job`;
  return (
    <section className={styles.card} aria-label={t('ledger.title')}>
      <h2>
        <Explained words={t('ledger.words')} command={command}>
          {t('ledger.title')}
        </Explained>
        {sum > 0 && (
          <span className="weak">
            {' '}
            <GpuHours gpuMs={sum} />
          </span>
        )}
      </h2>
      {sum === 0 ? (
        <p className="weak">{t('ledger.none')}</p>
      ) : (
        <>
          <div className={styles.bar} aria-hidden="true">
            {amounts.map(({ use, ms }) => (
              <span key={use} style={{ flexGrow: ms, background: `var(${LOOKS.uses[use].colour})` }} />
            ))}
          </div>
          <dl className={styles.uses}>
            {amounts
              .filter(({ ms }) => ms > 0)
              .map(({ use, ms }) => (
                <div key={use} data-use={use}>
                  <dt>
                    <StateShape {...LOOKS.uses[use]} />
                    <Explained words={t(`ledger.of.${use}`)} command={command}>
                      {t(`common:uses.${use}`)}
                    </Explained>
                  </dt>
                  <dd>
                    <GpuHours gpuMs={ms} /> <span className="weak">{formatPercent(ms / sum, i18n.language)}</span>
                  </dd>
                </div>
              ))}
          </dl>
        </>
      )}
    </section>
  );
}
