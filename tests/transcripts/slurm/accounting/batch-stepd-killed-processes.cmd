ps -u $USER -o args=
