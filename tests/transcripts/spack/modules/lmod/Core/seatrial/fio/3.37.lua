-- -*- lua -*-
-- Module file created by spack (https://github.com/spack/spack) on 2026-11-22 00:43:32.613763
--
-- fio@3.37~doc~gui~libaio build_system=autotools arch=linux-debian12-x86_64/b3d6rrh
--

whatis([[Name : fio]])
whatis([[Version : 3.37]])
whatis([[Target : x86_64]])
whatis([[Short description : Flexible I/O Tester.]])
whatis([[Configure options : --disable-native]])

help([[Name   : fio]])
help([[Version: 3.37]])
help([[Target : x86_64]])
help()
help([[Flexible I/O Tester. Fio spawns a number of threads or processes doing a
particular type of I/O action as specified by the user. fio takes a
number of global parameters, each inherited by the thread unless
otherwise parameters given to them overriding that setting is given.]])



prepend_path("PATH", "/opt/seatrial/opt/linux-x86_64/fio-3.37-b3d6rrhg2gue7rx2d75lbao5t2fbo7b5/bin", ":")
prepend_path("MANPATH", "/opt/seatrial/opt/linux-x86_64/fio-3.37-b3d6rrhg2gue7rx2d75lbao5t2fbo7b5/man", ":")
prepend_path("CMAKE_PREFIX_PATH", "/opt/seatrial/opt/linux-x86_64/fio-3.37-b3d6rrhg2gue7rx2d75lbao5t2fbo7b5/.", ":")
setenv("FIO_ROOT", "/opt/seatrial/opt/linux-x86_64/fio-3.37-b3d6rrhg2gue7rx2d75lbao5t2fbo7b5")
append_path("MANPATH", "", ":")

