// The three lists of an inbox, after the usual pattern: arrows walk, the panel is named by its tab.
import { useRef, useState } from "preact/hooks";
import { freshElementId, useUi } from "../ui";
import type { Tab } from ".";

const TABS: Tab[] = ["waiting", "history", "grants"];

interface TabsProps {
  tab: Tab;
  choose: (tab: Tab) => void;
  children: preact.ComponentChildren;
}

export function Tabs({ tab, choose, children }: TabsProps) {
  const { say } = useUi();
  const [id] = useState(() => freshElementId("tabs"));
  const list = useRef<HTMLDivElement>(null);
  const walk = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const i = (TABS.indexOf(tab) + by + TABS.length) % TABS.length;
    choose(TABS[i] ?? tab);
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[i]?.focus();
  };
  return (
    <>
      <div ref={list} class="tabs" role="tablist" aria-label={say("inbox.name")} onKeyDown={walk}>
        {TABS.map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`${id}-${name}`}
            aria-selected={tab === name}
            aria-controls={`${id}-panel`}
            tabIndex={tab === name ? 0 : -1}
            onClick={() => choose(name)}
          >
            {say(`inbox.tab.${name}`)}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${tab}`}>
        {children}
      </div>
    </>
  );
}
