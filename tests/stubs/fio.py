"""A stand-in for fio 3.33 whose launches take as long as a test wants, and which can be told to fail.

It writes the regions of its job file as fio does, reads their first bytes, makes, stats, reads and removes the files,
or touches them for the time that it is given, and reports in the form of a genuine transcript. Its orders lie beside
the program, in <program>.json:

    {"template": the JSON of a transcript, "version": what --version says,
     "orders": [[regular expression, {"fault": name, "seconds": s, "runtime_ms": [ms, ...], ...}], ...]}

All orders whose expression is found in the end of the job file's path count, the later ones first; that is
<case>/raw/<launch number>-<stage>-<operation>@<point>.fio. It sleeps for the seconds of its order, or for its bytes
over the order's rate (B/s, or files/s), and claims that time; or the runtime_ms of the order, taken in turn by the
launch's number. Of random I/O it claims the order's "iops" a job, taken in turn, each transfer of a millisecond.
What is in the order's "job" and "io" stands so in the report of each job, and in that of its one direction.
Each launch adds a line to <program>.log: time, pid, directory, job file.
"""

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time

CHUNK = 1 << 20  # bytes that are written at once
END = 1 << 16

# What fio 3.33 says (tests/transcripts/fio).
NO_SPACE = 'fio: io_u error on file {}: No space left on device: write offset=0, buflen=65536\n'
KILLED_JOB = 'fio: pid=20899, got signal=9\n'


def main(arguments):
    with open(os.path.abspath(__file__) + '.json') as stream:
        content = json.load(stream)
    if arguments == ['--version']:
        print(content['version'])
        return 0
    job_file = arguments[-1]
    report = next(a for a in arguments if a.startswith('--output='))[len('--output=') :]
    order = {}
    for expression, more in content['orders']:
        if re.search(expression, '/'.join(job_file.split('/')[-3:])):
            order.update(more)
    common, jobs = read_jobs(job_file)
    number = int(os.path.basename(job_file).split('-')[0])
    with open(os.path.abspath(__file__) + '.log', 'a') as stream:
        stream.write(f'{time.time()} {os.getpid()} {os.getcwd()} {job_file}\n')
    if 'time_based' in common:
        order.setdefault('seconds', int(common['runtime'][: -len('ms')]) / 1000)
    elif 'rate' in order:
        order['seconds'] = max(share_of(common, options) for _, options in jobs) / order['rate']
    status = carry_out(common, jobs, order)
    fault = order.get('fault')
    text = json.dumps(report_of(content['template'], common, jobs, order, number), indent=2) + '\n'
    with open(report, 'w') as stream:
        stream.write(text[: len(text) // 2] if fault == 'half-json' else text)
    return 1 if fault == 'exit-1' else status


def read_jobs(path):
    """The global options, and name and options of each job."""
    common, jobs = {}, []
    options = common
    with open(path) as stream:
        for line in stream.read().splitlines():
            if line.startswith('['):
                name = line[1:-1]
                options = common if name == 'global' else {}
                if name != 'global':
                    jobs.append((name, options))
            else:
                key, _, value = line.partition('=')
                options[key] = value
    return common, jobs


def carry_out(common, jobs, order):
    """Do the I/O, and what the order's fault is; the exit status."""
    fault = order.get('fault')
    while fault == 'hang':
        time.sleep(60)
    if fault == 'hang-with-client':
        with_client()
    if fault == 'kill-runner':
        os.kill(os.getppid(), signal.SIGKILL)
    if fault == 'interrupt-runner':
        os.kill(os.getppid(), signal.SIGTERM)
    if 'fill' in order:
        fill(order['fill'])
    sys.stderr.write(order.get('stderr', ''))
    if 'unlink' in order:
        os.unlink(order['unlink'])
    if fault == 'vanish':
        os.unlink(__file__)
    for name, options in jobs:
        data = {'zeros': bytes, 'alike': alike}.get(fault, os.urandom)
        try:
            if 'nrfiles' in common:
                touch_files(common, options, data)
            elif 'time_based' in common:
                touch_anywhere(common, options, data)
            else:
                touch_region(common, options, data)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                sys.stderr.write(NO_SPACE.format(file_of(options)))
            order['error'] = name, error.errno
            return 1
        if fault == 'crash':
            os.kill(os.getpid(), signal.SIGSEGV)
    time.sleep(order.get('seconds', 0.0))
    last = file_of(jobs[-1][1])
    if fault == 'error-lines':
        sys.stderr.write(KILLED_JOB)
    if fault == 'delete-file':
        os.unlink(last)
    if fault == 'cut-file':
        os.truncate(last, os.path.getsize(last) - 1)
    if fault == 'foreign-file':
        open('core', 'w').close()
    if 'read_only' in order:
        subprocess.check_call(['mount', '-o', 'remount,ro', order['read_only']])
    return 0


def share_of(common, options):
    """Bytes of a job's region, or its files."""
    return int(common['nrfiles'] if 'nrfiles' in common else options['io_size'])


def file_of(options, number=0):
    return options.get('filename') or options['filename_format'].replace('$filenum', str(number))


def touch_files(common, options, data):
    size = int(common['filesize'])
    for name in (file_of(options, number) for number in range(int(common['nrfiles']))):
        if common['ioengine'] == 'filestat':
            os.stat(name)
        elif common['ioengine'] == 'filedelete':
            os.unlink(name)
        elif common['rw'] == 'read':
            with open(name, 'rb') as stream:
                stream.read(size)
        else:
            with open(name, 'wb') as stream:
                stream.write(b'' if common['ioengine'] == 'filecreate' else data(size))


def touch_anywhere(common, options, data):
    with open(options['filename'], 'rb' if common['rw'] == 'randread' else 'r+b') as stream:
        stream.read(END)
        if stream.writable():
            stream.seek(0)
            stream.write(data(int(common['bs'])))


def touch_region(common, options, data):
    offset, extent, size = int(options['offset']), int(options['io_size']), int(common['bs'])
    operation, _, skip = options['rw'].partition(':')
    if 'read' in operation:
        with open(options['filename'], 'rb') as stream:
            stream.read(END)
        return
    step = size + int(skip or 0)
    places = [(offset, extent)] if step == size else [(offset + i * step, size) for i in range(extent // size)]
    with open(os.open(options['filename'], os.O_RDWR | os.O_CREAT, 0o644), 'r+b') as stream:
        for place, length in places:
            for start in range(place, place + length, CHUNK):
                stream.seek(start)
                stream.write(data(min(CHUNK, place + length - start)))
        stream.flush()
        os.fsync(stream.fileno())


def alike(size):
    """Data that compress to little, no two blocks of which are the same."""
    return b''.join(os.urandom(8) * 8 for _ in range(-(-size // 64)))[:size]


def with_client():
    """As fio: its clients are sessions of their own, and outlive it."""
    if os.fork() == 0:
        os.setsid()
        time.sleep(60)
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(60)


def fill(path):
    """As another user: take all the space that is left."""
    with open(path, 'wb', buffering=0) as stream:
        try:
            while stream.write(bytes(4096)):
                pass
        except OSError:
            pass


def report_of(template, common, jobs, order, number):
    """The report: the transcript's, with these jobs."""
    report, form = dict(template), template['jobs'][0]
    claims = order.get('runtime_ms') or [max(1, round(1000 * order.get('seconds', 0.0)))]
    runtime = claims[number % len(claims)]
    report['global options'] = common
    report['jobs'] = []
    for name, options in jobs:
        if 'time_based' in common:
            done = at_random(form, common, order, number)
            report['jobs'].append(dict(form, jobname=name, **{'job options': options}, **done))
            continue
        share = share_of(common, options)
        if order.get('fault') == 'fewer-bytes' and name == jobs[-1][0]:
            share //= 2
        operation = 'read' if 'read' in options.get('rw', common.get('rw')) else 'write'
        moved = share * int(common['bs']) if 'nrfiles' in common else share
        rate = moved * 1000 // runtime
        transfers = moved // int(common['bs']) if int(common['bs']) else share
        done = dict(form[operation], io_bytes=moved, io_kbytes=moved >> 10, runtime=runtime, bw_bytes=rate)
        done.update(bw=rate >> 10, total_ios=transfers, iops=1000.0 * transfers / runtime)
        if 'nrfiles' in common:
            latency_ns = 500_000 * runtime // max(1, share)
            latencies = {'mean': float(latency_ns), 'N': share, 'bins': {str(latency_ns): share}}
            done['clat_ns'] = dict(done['clat_ns'], **latencies)
        done.update(order.get('io', {}))
        failed, error = order.get('error', ('', 0))
        job = dict(form, jobname=name, error=error if failed == name else 0, write=form['read'])
        job.update(order.get('job', {}))
        job.update({'job options': options, operation: done})
        report['jobs'].append(job)
    return report


def at_random(form, common, order, number):
    """The work of a job in each direction of random I/O."""
    runtime, size = round(1000 * order['seconds']), int(common['bs'])
    rates, latency = order.get('iops', [1000]), 1_000_000
    wanted = rates[number % len(rates)]
    mix = int(common.get('rwmixread', 0)) / 100
    shares = {'randread': {'read': 1.0}, 'randwrite': {'write': 1.0}, 'randrw': {'read': mix, 'write': 1 - mix}}
    done = {}
    for direction, share in shares[common['rw']].items():
        count = max(1, round(share * wanted * runtime / 1000))
        times = {'min': latency, 'max': latency, 'mean': float(latency), 'N': count, 'bins': {str(latency): count}}
        moved, iops = count * size, 1000.0 * count / runtime
        rate = moved * 1000 // runtime
        totals = {'io_bytes': moved, 'bw_bytes': rate, 'bw': rate >> 10, 'iops': iops, 'total_ios': count}
        done[direction] = dict(form[direction], runtime=runtime, lat_ns=times, **totals)
    return done


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
