// A reporter of mocha: the outcome of each test by its full title, as JSON in the file MOCHA_REPORT.
const fs = require("fs");

module.exports = function (runner) {
  const outcomes = {};
  runner.on("pass", (test) => { outcomes[test.fullTitle()] ??= "passed"; });
  runner.on("pending", (test) => { outcomes[test.fullTitle()] = "skipped"; });
  runner.on("fail", (test, error) => {
    outcomes[test.fullTitle()] = "failed";
    console.log(`${test.fullTitle()}\n${error.stack}\n`);
  });
  runner.on("end", () => fs.writeFileSync(process.env.MOCHA_REPORT, JSON.stringify(outcomes)));
};
