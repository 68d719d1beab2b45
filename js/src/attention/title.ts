// The tab's title with a count before it, whatever else the front end writes there.
export class Title {
  private prefix = "";
  private readonly observer = new MutationObserver(() => this.write());

  count(n: number): void {
    const prefix = n > 0 ? `(${n}) ` : "";
    if (prefix === this.prefix) return;
    this.observer.disconnect();
    this.remove();
    this.prefix = prefix;
    this.write();
    // JupyterLab names the tab anew with every notebook that is looked at.
    if (prefix !== "") {
      this.observer.observe(document.head, { subtree: true, childList: true, characterData: true });
    }
  }

  private write(): void {
    // Somewhere in it is enough: another counter may have gone before ours.
    if (this.prefix !== "" && !document.title.includes(this.prefix.trim())) {
      document.title = this.prefix + document.title;
    }
  }

  private remove(): void {
    if (this.prefix !== "") document.title = document.title.replace(this.prefix, "");
  }
}
