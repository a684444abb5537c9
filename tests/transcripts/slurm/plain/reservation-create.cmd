scontrol create reservation ReservationName=trial Users=alice StartTime=now+10minutes Duration=30 Nodes=n[3-4]
