// Shows of the tables of the index by names those rows that hold what is typed.
document.addEventListener("DOMContentLoaded", function () {
  var field = document.getElementById("filter");
  var rows = Array.prototype.slice.call(document.querySelectorAll("table.markdownTable tr")).filter(function (row) {
    return row.querySelector("td");
  });
  function filter() {
    var words = field.value.toLowerCase().split(/\s+/);
    rows.forEach(function (row) {
      var text = row.textContent.toLowerCase();
      row.hidden = !words.every(function (word) { return text.indexOf(word) >= 0; });
    });
  }
  field.addEventListener("input", filter);
  if (location.hash.indexOf("#?") === 0) field.value = decodeURIComponent(location.hash.slice(2));
  filter();
});
