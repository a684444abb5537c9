"""What several checks share of what they declare: where expectations come from, and those that are the same."""

from seatrial.judge.expectations import AtLeast, Between

BOITO_2009 = 'Boito et al. (WSPPD 2009; Lustre, 4 data servers, 40 clients, Gigabit Ethernet)'

READ_AGAINST_WRITE = (
    AtLeast(metric='read', than='write', id='L09-08a', words='reading is faster than writing', source=BOITO_2009),
    Between(
        metric='read',
        than='write',
        lowest=1.05,
        highest=1.35,
        id='L09-08b',
        words='reading is about a fifth faster than writing',
        source=BOITO_2009,
    ),
)
"""1.05 to 1.35 is a band that we chose around the source's "~20 %"."""
