// Filters the matrix; the page is complete without it.
(() => {
  const bar = document.querySelector(".filter");
  const name = document.getElementById("filter");
  const troubled = document.getElementById("troubled");
  const rows = [...document.querySelectorAll("tr[data-node]")];
  if (!bar || rows.length < 9) return;
  bar.hidden = false;
  const show = () => {
    const wanted = name.value.trim().toLowerCase();
    for (const row of rows) {
      const named = row.dataset.node.toLowerCase().includes(wanted);
      row.hidden = !named || (troubled.checked && row.classList.contains("clean"));
    }
    const folded = document.querySelector("#checks > details");
    if (folded && wanted) folded.open = true;
  };
  name.addEventListener("input", show);
  troubled.addEventListener("change", show);
})();
