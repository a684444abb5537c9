"""Prints docs/results.schema.json: `python docs/generate_results_schema.py > docs/results.schema.json`."""

from seatrial.report.acceptance.results import results_schema

if __name__ == '__main__':
    print(results_schema(), end='')
